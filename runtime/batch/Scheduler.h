//===- Scheduler.h - Which requests run next, together ------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests whose dims agree but for the batch are in one bucket, by class and
// then by when they are due. A session that is free takes what there is; a batch
// stays open for more rows only while their arrival rate says that the time
// which one more row saves is longer than the wait for it, and never beyond
// max_wait or the first deadline.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_BATCH_SCHEDULER_H
#define KILN_RUNTIME_BATCH_SCHEDULER_H

#include "CostTable.h"
#include "LoadControl.h"
#include "Request.h"

namespace kiln::rt {

struct BatchItem {
  Request *request;
  uint32_t firstRow; ///< of the request
  uint32_t rows;
  uint32_t batchRow; ///< where they begin in the batch
  // After the run.
  bool isLast;          ///< the request is done
  kiln_status_t status; ///< of the request, then
};

/// What one session runs at once. `items` has room for max_batch.
struct Batch {
  Array<BatchItem> items;
  uint32_t count = 0;
  uint32_t rows = 0;
  int32_t bucket = -1;
  bool isSlow = false;
  uint64_t picked = 0;   ///< when
  uint64_t expected = 0; ///< nanoseconds; 0: nothing is known
};

/// All calls under the batcher's lock.
class Scheduler {
public:
  static constexpr uint32_t kClasses = 3;

  /// Zeroed options have their defaults; `model` has batch axes.
  bool configure(const kiln_model *model, const kiln_batcher_options &options);

  void add(Request &request);
  void remove(Request &request);
  /// The next request that nothing can finish in time, taken out; null: none.
  Request *takeExpired(uint64_t now);
  /// Any request, taken out; null: none.
  Request *takeAny();
  uint32_t waiting() const { return numWaiting; }

  enum class Pick {
    Nothing,
    Hold, ///< look again when `holdUntil` is over or `holdRows` more rows came
    Take,
  };
  /// With `eager`, no batch stays open.
  Pick pick(uint64_t now, bool eager, Batch &batch);
  uint64_t holdUntil = 0;
  uint32_t holdRows = 0;

  /// A batch came back after that time.
  void finished(const Batch &batch, uint64_t nanoseconds);
  /// The costs of the requests' only possible dims; null: there are several.
  CostTable *onlyCosts();

  bool sharedInputsEqual(const Request &a, const Request &b) const;
  const Interface &tensors() const { return specs; }

  LoadControl load;
  uint64_t splits = 0, closedEarly = 0;

private:
  struct Bucket {
    /// For each input 1 when it is there, then its dims, 0 for the batch.
    int64_t *key = nullptr;
    bool inUse = false;
    bool isSlow = false;
    Request *first[kClasses] = {}, *last[kClasses] = {};
    uint32_t requests = 0, rows = 0, deadlines = 0; ///< waiting
    uint32_t running = 0;                           ///< batches
    uint64_t lastUse = 0;
    // Arrivals, a request each.
    uint64_t lastArrival = 0, meanGap = 0;
    // Whether holding batches open brought rows.
    uint32_t rowsWhenHeld = 0, futileHolds = 0, holdsToSkip = 0;
    CostTable costs;
  };
  static constexpr uint32_t kBuckets = 32;
  /// For dims that found no bucket free: its requests run one by one.
  static constexpr uint32_t kStray = kBuckets;

  bool matches(const Bucket &bucket, const Request &request) const;
  void writeKey(Bucket &bucket, const Request &request) const;
  uint32_t findBucket(const Request &request);
  uint32_t limitOf(const Bucket &bucket) const;
  uint64_t openUntil(Bucket &bucket, uint64_t now);
  void closeHold(Bucket &bucket);
  void fill(uint32_t index, uint64_t now, Batch &batch);
  static uint64_t dueOf(const Bucket &bucket);
  /// 0 goes first.
  uint32_t rank(const Bucket &bucket, uint64_t now) const;

  Interface specs;
  bool sharesInputs = false; ///< some have no rows
  uint32_t keySize = 0;
  uint32_t maxBatch = 1;
  uint64_t maxWait = 0, maxExec = 0, patience = 0;
  Bucket buckets[kBuckets + 1];
  Array<int64_t> keys;
  uint32_t numWaiting = 0, slowRunning = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_SCHEDULER_H
