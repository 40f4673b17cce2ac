//===- Context.h - A device, and calls of its driver --------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDA_CONTEXT_H
#define KILN_RUNTIME_DRIVERS_CUDA_CONTEXT_H

#include "DriverAPI.h"
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

  /// Makes the context current on this thread for a while: the caller's own is
  /// in force again afterwards.
  class Use {
  public:
    explicit Use(const Context &context)
        : context(context),
          isCurrent(context.driver.cuCtxPushCurrent(context.handle) == CUDA_SUCCESS) {}
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
};

} // namespace kiln::cuda

#endif // KILN_RUNTIME_DRIVERS_CUDA_CONTEXT_H
