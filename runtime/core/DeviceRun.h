//===- DeviceRun.h - A session's tensors on a device --------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_DEVICERUN_H
#define KILN_RUNTIME_CORE_DEVICERUN_H

#include "Device.h"
#include "PlanTable.h"
#include "RunMemory.h"

namespace kiln::rt {

/// What a session has beside its host half when it runs on a device: the session
/// binds, plans and finds the outputs' memory as ever, and this half brings
/// inputs there and outputs back.
class DeviceRun {
public:
  DeviceRun() = default;
  DeviceRun(const DeviceRun &) = delete;
  DeviceRun &operator=(const DeviceRun &) = delete;
  ~DeviceRun();

  /// The queue is this object's from now on, even on failure.
  bool create(DeviceQueue *queue, const kiln_module &module);

  /// An input that the host has becomes one of the device.
  kiln_status_t bringInput(uint32_t index, const void *&data, uint64_t bytes, ErrorText &error);
  /// Memory there for an output that will be brought back to `host`; null when
  /// there is none.
  void *placeOutput(uint32_t index, void *host, uint64_t bytes);
  /// Brings outputs back and waits.
  kiln_status_t finish(ErrorText &error);
  /// What lies at an address there, until the next call; null on failure.
  const void *fetch(const void *from, uint64_t bytes, kiln_status_t &status, ErrorText &error);

  /// Addresses that decide whether a run is like an earlier one.
  Array<const void *> key;

private:
  struct Output {
    Block block;
    void *host = nullptr;
    uint64_t bytes = 0;
  };

public:
  // Blocks go before the queue whose pool they are from.
  DeviceQueue *queue = nullptr;
  Block arena;
  RunMemory memory;

private:
  Array<Block> inputs;
  Array<Output> outputs;
  uint8_t *fetched = nullptr;
  uint64_t capacity = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_DEVICERUN_H
