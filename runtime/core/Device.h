//===- Device.h - What a session asks of a device ------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A driver (runtime/drivers) opens a device for a model: its code is loaded and
// its weights are copied there once. Each session then has a queue of its own.
// Everything that a session asks for happens in that queue's order.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_DEVICE_H
#define KILN_RUNTIME_CORE_DEVICE_H

#include "Profile.h"
#include "Support.h"
#include "kiln-c/Memory.h"
#include "kiln-c/ModuleABI.h"
#include "kiln-c/dlpack.h"

namespace kiln::rt {

/// Kernels move so many bytes at once: every buffer starts at a multiple of it.
inline constexpr uint64_t kDeviceAlignment = 16;

/// One session's queue. One thread at a time. After a failure that says so the
/// device is lost, and every call fails.
class DeviceQueue {
public:
  /// Of the device's memory; its blocks are addresses there.
  virtual kiln_pool *pool() = 0;
  virtual const uint8_t *weights() = 0;
  /// Times of launches go there from now on.
  virtual void setProfile(Profile *profile) = 0;

  /// What follows happens in a caller's stream, or in its own one (null), behind
  /// all that it was asked for before. KILN_INVALID_ARGUMENT: not a stream of this
  /// device; other failures are the device's.
  virtual kiln_status_t enter(void *stream, ErrorText &error) = 0;
  /// Whether so many bytes at an address lie in this device's memory, as a caller
  /// says: else KILN_INVALID_ARGUMENT. `what`: the tensor, for the message.
  virtual kiln_status_t inspect(const void *memory, uint64_t bytes, const char *what,
                                ErrorText &error) = 0;

  /// Copies. The host's memory of an upload may change, and that of a download
  /// is filled, after the next finish().
  virtual kiln_status_t upload(void *to, const void *from, uint64_t bytes, ErrorText &error) = 0;
  virtual kiln_status_t download(void *to, const void *from, uint64_t bytes, ErrorText &error) = 0;
  virtual kiln_status_t copy(void *to, const void *from, uint64_t bytes, ErrorText &error) = 0;
  /// As kiln_module_services::launch says of devices.
  virtual kiln_status_t launch(uint32_t row, uint32_t kernel, const void *args, int64_t extent,
                               ErrorText &error) = 0;
  /// Waits for all of it.
  virtual kiln_status_t finish(ErrorText &error) = 0;
  /// Ends a run instead, which wait() waits for between runs.
  virtual kiln_status_t leave(ErrorText &error) = 0;
  virtual kiln_status_t wait(ErrorText &error) = 0;

  /// Brackets the launches of a run. A run that had the same `key` as an earlier
  /// one, and in which nothing but launches happened, may be `replayed` as a
  /// whole: then there is nothing to launch. `key`: all that decides what is
  /// launched, addresses and sizes.
  virtual kiln_status_t beginRun(const uint64_t *key, uint32_t count, bool &replayed,
                                 ErrorText &error) = 0;
  /// The run under way uses memory that another one may not have.
  virtual void forbidReplay() = 0;
  /// `again`: the run was only recorded, and could not be: launch once more.
  virtual kiln_status_t endRun(bool succeeded, bool &again, ErrorText &error) = 0;

  virtual void destroy() = 0;

protected:
  ~DeviceQueue() = default;
};

/// A model on a device. Any thread.
class DeviceModel {
public:
  /// `stream`: the caller's, or null for one of its own.
  virtual kiln_status_t open(void *stream, DeviceQueue **queue, ErrorText &error) = 0;
  /// "cuda:0"
  virtual const char *name() = 0;
  /// As tensors there have it.
  virtual DLDevice place() = 0;
  /// Nothing can be done with it any more: an error that stays, or a fork.
  virtual bool isLost() = 0;
  /// The process is a child of the one that opened it.
  virtual bool isForked() = 0;
  /// Which code was chosen, and why: "sm_80 cubin for an NVIDIA A100 (sm_80)".
  virtual const char *choice() = 0;
  /// When it has no queue.
  virtual void destroy() = 0;

protected:
  ~DeviceModel() = default;
};

/// What kiln_module_device::driver points to.
struct DeviceDriver {
  /// Whether the driver is for a device of this name, or for its default one
  /// when the name is null.
  bool (*accepts)(const char *device);
  kiln_status_t (*open)(const kiln_module_device &module, const char *device, DeviceModel **model,
                        ErrorText &error);
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_DEVICE_H
