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
/// inputs there and outputs back. Tensors that lie there are used in place.
class DeviceRun {
public:
  DeviceRun() = default;
  DeviceRun(const DeviceRun &) = delete;
  DeviceRun &operator=(const DeviceRun &) = delete;
  ~DeviceRun();

  /// The queue is this object's from now on, even on failure.
  bool create(DeviceQueue *queue, const kiln_module &module);

  /// As Block::reserve, of blocks there.
  bool reserve(Block &block, uint64_t bytes);

  /// Before the inputs of a run.
  void beginInputs() {
    for (Input &input : inputs)
      input.there = nullptr;
  }
  /// The input lies there: null when it does not.
  void giveInput(uint32_t index, const void *there) { inputs[index].there = there; }
  const void *givenInput(uint32_t index) const { return inputs[index].there; }
  /// Copies an input that lies there into a block, at once.
  kiln_status_t copyInput(uint32_t index, uint64_t bytes, ErrorText &error);
  /// Brings an input's elements there; null: the default in the weights.
  kiln_status_t bringInput(uint32_t index, const void *from, uint64_t bytes, ErrorText &error);

  /// Finds memory there for an output that finish() brings to `target`, which is
  /// the host's memory or (`isThere`) the device's.
  kiln_status_t placeOutput(uint32_t index, void *target, bool isThere, uint64_t bytes,
                            ErrorText &error);
  /// The output is written where it will stay.
  void useOutput(uint32_t index, void *there) {
    outputs[index].bytes = 0;
    outputData()[index] = there;
  }
  /// The session's memory there for an output; null when there is none.
  Block &outputBlock(uint32_t index) { return outputs[index].block; }

  /// Brings outputs to their targets.
  kiln_status_t bringOutputs(ErrorText &error);
  /// A device that is lost gives no memory either: that is said first.
  kiln_status_t failForMemory(const char *what, uint64_t bytes, ErrorText &error);
  /// After a lack of memory: others may use what this session held.
  void giveBack();
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
  struct Input {
    Block block;
    const void *there = nullptr;
  };
  struct Output {
    Block block;
    void *target = nullptr;
    bool isThere = false;
    /// To bring to the target.
    uint64_t bytes = 0;
  };
  const kiln_module *module = nullptr;
  Array<Input> inputs;
  Array<Output> outputs;
  uint8_t *fetched = nullptr;
  uint64_t capacity = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_DEVICERUN_H
