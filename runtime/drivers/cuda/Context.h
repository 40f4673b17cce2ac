//===- Context.h - A device, and calls of its driver --------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDA_CONTEXT_H
#define KILN_RUNTIME_DRIVERS_CUDA_CONTEXT_H

#include "DriverAPI.h"
#include "ForkGuard.h"
#include "Support.h"

namespace kiln::cuda {

/// The driver's functions and the primary context of one device. Any thread.
class Context {
public:
  Context() = default;
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  ~Context() { close(); }

  /// `library`: of the driver. `ordinal`: of the device, which users call `name`.
  kiln_status_t open(const char *library, int ordinal, const char *name, rt::ErrorText &error);

  void close();

  /// In a child of the process that opened it, where CUDA must not be called.
  bool isForked() const { return guard.generation() != born; }
  /// Nothing can be done with it any more: an error that stays, or a fork.
  bool isLost() const;

  /// Makes the context current on this thread for a while: the caller's own is
  /// in force again afterwards.
  class Use {
  public:
    explicit Use(const Context &context)
        : context(context),
          isCurrent(!context.isForked() &&
                    context.driver.cuCtxPushCurrent(context.handle) == CUDA_SUCCESS) {}
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
    ~Use() {
      CUcontext old;
      if (isCurrent)
        context.driver.cuCtxPopCurrent(&old);
    }

  private:
    const Context &context;
    bool isCurrent;
  };

  /// A status for what the driver said; `what` was being done.
  kiln_status_t fail(CUresult result, const char *what, rt::ErrorText &error) const;
  int attribute(CUdevice_attribute which) const;

  DriverTable driver = {};
  CUdevice device = 0;
  CUcontext handle = nullptr;
  int ordinal = 0;
  /// 80 for sm_80.
  int architecture = 0;
  int multiprocessors = 0;
  /// As users call it: "cuda:0".
  rt::TextBuilder name;
  char deviceName[96] = "";

private:
  mutable rt::ForkGuard guard;
  uint64_t born = 0;
};

} // namespace kiln::cuda

#endif // KILN_RUNTIME_DRIVERS_CUDA_CONTEXT_H
