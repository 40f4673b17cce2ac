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

  /// Brings an input's elements there; null: the default in the weights.
  kiln_status_t bringInput(uint32_t index, const void *from, uint64_t bytes, ErrorText &error);
  /// Finds memory there for an output that will be brought back to `host`.
  kiln_status_t placeOutput(uint32_t index, void *host, uint64_t bytes, ErrorText &error);
  /// Brings outputs back and waits.
  kiln_status_t finish(ErrorText &error);
  /// What lies at an address there, until the next call; null on failure.
  const void *fetch(const void *from, uint64_t bytes, kiln_status_t &status, ErrorText &error);

  /// The arena's address, those of inputs and of outputs, the symbols that are
  /// bound: all that decides what a run launches.
  Array<uint64_t> key;
  const void **inputData() const { return reinterpret_cast<const void **>(key.get() + 1); }
  void **outputData() const {
    return reinterpret_cast<void **>(key.get() + 1 + module->num_inputs);
  }
  uint64_t *symbols() const { return key.get() + 1 + module->num_inputs + module->num_outputs; }

  DeviceQueue *queue = nullptr;
  Block arena;
  RunMemory memory;

private:
  struct Output {
    Block block;
    void *host = nullptr;
    uint64_t bytes = 0;
  };
  const kiln_module *module = nullptr;
  Array<Block> inputs;
  Array<Output> outputs;
  uint8_t *fetched = nullptr;
  uint64_t capacity = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_DEVICERUN_H
