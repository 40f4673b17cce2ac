//===- Lane.h - One session, and what it needs for batches ---- -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are copied once, from the requests into the batch's inputs, and at most
// once back; a request that runs alone is not copied at all.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_BATCH_LANE_H
#define KILN_RUNTIME_BATCH_LANE_H

#include "RunMemory.h"
#include "Scheduler.h"

namespace kiln::rt {

class Lane {
public:
  Lane() = default;
  ~Lane();

  /// `tensors` stay.
  bool allocate(const Interface &tensors, uint32_t maxBatch);
  kiln_status_t openSessions(kiln_model *model, const kiln_batcher_options &options);

  /// Whoever has it may call what follows.
  bool acquire() {
    return !taken.load(std::memory_order_seq_cst) &&
           !taken.exchange(true, std::memory_order_seq_cst);
  }
  bool isFree() const { return !taken.load(std::memory_order_seq_cst); }
  void release() { taken.store(false, std::memory_order_seq_cst); }

  /// Runs `batch`.
  kiln_status_t run();
  /// After a successful run: the results of an item to its request's memory.
  kiln_status_t deliver(uint32_t item);
  /// The same as views, valid until the next call on the lane.
  const DLTensor *const *view(uint32_t item);
  /// Runs one item without the others. Its result is item 0.
  kiln_status_t runAlone(uint32_t item);
  /// Nanoseconds of a batch of zeros; 0 when it fails.
  uint64_t timeZeros(uint32_t rows);

  Batch batch;
  /// The last run took its inputs from the request, and wrote to its outputs.
  bool tookDirectly = false, wroteDirectly = false;
  /// Run on the twin.
  bool usesTwin = false;
  pthread_t thread;
  bool hasThread = false;

private:
  const DLTensor &outputOf(uint32_t index) const { return results[index]; }
  bool prepareInput(uint32_t index, const DLTensor &like, uint32_t rows);
  bool gatherInputs();
  kiln_status_t call(DLTensor *const *outputs);

  const Interface *specs = nullptr;
  kiln_session *session = nullptr, *twin = nullptr;
  uint32_t numInputs = 0, numOutputs = 0;
  std::atomic<bool> taken{false};
  Array<Block> memory;           ///< of each input with rows
  Array<DLTensor> inputs;        ///< of the batch
  Array<const DLTensor *> given; ///< to the session
  Array<DLTensor> results, views;
  Array<DLTensor *> resultPointers;
  Array<const DLTensor *> viewPointers;
  Array<int64_t> dims; ///< of inputs, then of views
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_LANE_H
