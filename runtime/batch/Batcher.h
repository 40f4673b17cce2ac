//===- Batcher.h - Requests that share runs ------------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Submitting threads touch the free list, the intake and the bell. One lock is
// for what picks and finishes batches; nobody holds it during a run, a copy or
// a callback. Everybody sleeps on futexes: idle workers on the bell, waiters on
// their request.
//
// No wake-up is lost: who adds a request counts it, then looks for sleepers;
// who goes to sleep counts itself, then looks for requests. The same holds for
// a lane: who gives it back then looks for requests.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_BATCH_BATCHER_H
#define KILN_RUNTIME_BATCH_BATCHER_H

#include "ForkGuard.h"
#include "Lane.h"

#include <bit>

namespace kiln::rt {

inline constexpr uint64_t kNsPerUs = 1000;

/// By powers of two.
inline void countInto(uint64_t *histogram, uint32_t buckets, uint64_t value) {
  ++histogram[std::min<uint32_t>(uint32_t(std::bit_width(value | 1)) - 1, buckets - 1)];
}

class Batcher : public kiln_batcher {
public:
  static kiln_status_t create(kiln_model *model, const kiln_batcher_options *options,
                              kiln_batcher **batcher);
  explicit Batcher(kiln_model *model);

private:
  static const kiln_batcher_api table;
  static Batcher &of(kiln_batcher *batcher) { return *static_cast<Batcher *>(batcher); }

  // Batcher.cpp: life and work.
  static kiln_status_t readBatcherOptions(const kiln_model *model, kiln_batcher_options &options,
                                          ErrorText &error);
  kiln_status_t setUp(const kiln_batcher_options &options, ErrorText &error);
  void timeBatches();
  bool startWorkers();
  void stopWorkers();
  kiln_status_t close(uint32_t how);
  kiln_status_t drain(uint64_t timeoutMicroseconds);
  kiln_status_t setLoad(double memory, double throttle);

  // Figures.cpp
  void fillStats(kiln_batcher_stats &stats);
  size_t writeText(char *text, size_t size);

  struct WorkerStart {
    Batcher *batcher;
    uint32_t index;
  };
  enum class Served { Nothing, Hold, Ran, Busy };
  static void *enterWorker(void *start);
  void workerLoop(uint32_t index);
  void park(uint32_t seenBell, Served why, uint64_t until);
  /// Of lanes that are free, its own if possible; null: none.
  Lane *takeLane(uint32_t preferred);
  void giveLaneBack(Lane &lane);
  /// Runs one batch, if there is one to run, on a lane that was acquired. On
  /// Hold, `until` says for how long.
  Served serve(Lane &lane, bool mayHold, uint64_t &until);
  void runBatch(Lane &lane);
  void finishItem(Lane &lane, uint32_t item, kiln_status_t status, uint64_t now);
  void takeIntake();
  void giveUpExpired(uint64_t now);

  // Submit.cpp: calls about one request.
  kiln_status_t submit(const DLTensor *const *inputs, uint32_t numGiven, DLTensor *const *outputs,
                       uint32_t numResults, const kiln_submit_options *options, bool willWait,
                       kiln_ticket *ticket);
  kiln_status_t checkTensors(const DLTensor *const *inputs, uint32_t numGiven,
                             DLTensor *const *outputs, uint32_t numResults, uint32_t &rows,
                             uint64_t &elements) const;
  bool admitRate(uint32_t rows, uint64_t now);
  bool admitDeadline(uint32_t rows, uint64_t now, uint64_t deadline) const;
  uint32_t takePlace(uint64_t blockMicroseconds);
  void givePlaceBack(Request &request);
  kiln_status_t run(const DLTensor *const *inputs, uint32_t numGiven, DLTensor *const *outputs,
                    uint32_t numResults, const kiln_submit_options *options);
  void lead(Request &request);
  kiln_status_t wait(kiln_ticket ticket, uint64_t timeoutMicroseconds);
  kiln_status_t cancel(kiln_ticket ticket);
  Request *find(kiln_ticket ticket);
  /// The end of a request: calls back or wakes. No lock may be held.
  void complete(Request &request, kiln_status_t status, const DLTensor *const *outputs,
                uint64_t now);
  /// One request fewer is under way.
  void leaveWay();

  void ring(uint32_t wake = 1);
  bool inParent() { return guard.generation() == born; }
  bool inCallback() const;

  /// Of a call: close waits until there is none.
  struct Visit {
    explicit Visit(Batcher &batcher) : batcher(batcher) {
      batcher.visitors.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Visit() { batcher.visitors.fetch_sub(1, std::memory_order_seq_cst); }
    Batcher &batcher;
  };

  kiln_model *model;
  ForkGuard guard;
  uint64_t born = 0;
  uint32_t numInputs = 0, numOutputs = 0;
  kiln_batcher_options options = {};
  bool pinWorkers = false;
  CpuList cpus;
  uint64_t rowInterval = 0, burstTime = 0; ///< of the token bucket; 0: no limit

  Array<Request> places;
  Array<DLTensor> inputStore;
  Array<DLTensor *> outputStore;
  Array<int64_t> dimStore;
  Array<Lane> lanes;
  Array<WorkerStart> starts;

  alignas(64) FreeList freePlaces;
  std::atomic<uint32_t> freeBell{0}, freeSleepers{0};
  alignas(64) Intake intake;
  /// Requests that no batch has taken yet.
  /// A moment less than there are: a request is counted after it is there.
  std::atomic<int32_t> waitingCount{0};
  std::atomic<int64_t> waitingRows{0};
  /// Accepted and not completed.
  std::atomic<uint32_t> underWay{0};
  std::atomic<uint64_t> admittedUntil{0};
  std::atomic<uint64_t> accepted{0}, refusedFull{0}, refusedRate{0}, refusedDeadline{0};
  alignas(64) std::atomic<uint32_t> bell{0};
  std::atomic<uint32_t> sleepers{0};
  /// Workers that hold a batch open, and how many requests should wake one.
  std::atomic<uint32_t> holders{0};
  std::atomic<int32_t> holdTarget{0};
  alignas(64) std::atomic<uint32_t> closing{0};
  std::atomic<uint32_t> stopping{0};
  std::atomic<uint32_t> drainers{0};
  std::atomic<uint32_t> idleBell{0};
  std::atomic<uint32_t> visitors{0};
  /// Nanoseconds, of the latest batches, for predictions without the lock.
  std::atomic<uint64_t> timePerRow{0}, timePerBatch{0};
  std::atomic<uint32_t> numRunning{0}; ///< batches

  alignas(64) Mutex lock;
  Scheduler scheduler;
  kiln_batcher_stats counts = {};
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_BATCHER_H
