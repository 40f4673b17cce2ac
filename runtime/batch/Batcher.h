//===- Batcher.h - Requests that share runs ------------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two locks, each held for moments. Behind the door is what submitting threads
// touch: places, the intake, who sleeps. The other one is for what picks and
// finishes batches, and may be held when the door is taken, not the other way
// round. Nobody holds either during a run, a copy or a callback. Everybody sleeps on
// futexes: idle workers on the bell, waiters on their request.
//
// No wake-up is lost: a request comes in behind the door, where whoever goes to
// sleep looks for requests first, and is then seen. Who gives a lane back then looks
// for requests.
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
  class Leaving;
  enum class Served { Nothing, Hold, Ran, Busy };
  static void *enterWorker(void *start);
  void workerLoop(uint32_t index);
  void park(uint32_t seenBell, Served why, uint64_t until);
  /// Of lanes that are free, its own if possible; null: none.
  Lane *takeLane(uint32_t preferred);
  void giveLaneBack(Lane &lane);
  bool hasFreeLane() const;
  /// Runs one batch, if there is one to run, on a lane that was acquired. On
  /// Hold, `until` says for how long.
  Served serve(Lane &lane, bool mayHold, uint64_t &until);
  void runBatch(Lane &lane);
  void deliver(Lane &lane, uint32_t item, kiln_status_t status);
  void finishItem(Lane &lane, uint32_t item, Leaving &leaving);
  /// That an idle worker stays awake, nanoseconds, when it is mostly idle so long.
  uint64_t spinTime(uint64_t meanIdle) const;
  void takeIntake();
  /// The time at which no request had expired.
  uint64_t giveUpExpired();

  // Submit.cpp: calls about one request.
  struct Submission;
  kiln_status_t submit(const DLTensor *const *inputs, uint32_t numGiven, DLTensor *const *outputs,
                       uint32_t numResults, const kiln_submit_options *options, bool willWait,
                       kiln_ticket *ticket);
  kiln_status_t admit(const Submission &given, kiln_ticket *ticket);
  kiln_status_t checkTensors(const DLTensor *const *inputs, uint32_t numGiven,
                             DLTensor *const *outputs, uint32_t numResults, uint32_t &rows,
                             uint64_t &elements) const;
  bool admitRate(uint32_t rows, uint64_t now);
  bool admitDeadline(uint32_t rows, uint64_t now, uint64_t deadline) const;
  /// With the door, which it opens while it waits.
  uint32_t takePlace(uint64_t blockMicroseconds);
  void fillPlace(Request &request, const Submission &given);
  /// With the door: whether somebody is to be woken for a request that came in.
  bool mustWake(const Submission &given);
  kiln_status_t run(const DLTensor *const *inputs, uint32_t numGiven, DLTensor *const *outputs,
                    uint32_t numResults, const kiln_submit_options *options);
  void lead(Request &request);
  kiln_status_t wait(kiln_ticket ticket, uint64_t timeoutMicroseconds);
  kiln_status_t cancel(kiln_ticket ticket);
  Request *find(kiln_ticket ticket);
  /// Counts the end of a request; with the lock.
  void countEnd(const Request &request, kiln_status_t status, uint64_t now);

  /// Requests that are done, whose places are given back together.
  class Leaving {
  public:
    explicit Leaving(Batcher &batcher) : batcher(batcher) {}
    ~Leaving() { flush(); }
    /// With its place, unless who waits for it gives that back.
    void add(Request &request, bool withPlace);

  private:
    void flush();
    Batcher &batcher;
    uint32_t count = 0;
    Request *places = nullptr; ///< linked by `next`
  };
  /// The end of a request, once counted: calls back or wakes. No lock may be held.
  void complete(Request &request, kiln_status_t status, const DLTensor *const *outputs,
                Leaving &leaving);
  /// Both, of a request that did not run.
  void giveUp(Request &request, kiln_status_t status, uint64_t now);
  /// With the door: for who waits for a place, and who for the last request.
  bool wakesBlocked();

  void ring(uint32_t wake = 1);
  /// If there is one that sleeps, and something to do.
  void wakeWorker();
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
  bool pinWorkers = false, staysAwake = false;
  CpuList cpus;
  uint64_t rowInterval = 0, burstTime = 0; ///< of the token bucket; 0: no limit

  Array<Request> places;
  Array<DLTensor> inputStore;
  Array<DLTensor *> outputStore;
  Array<int64_t> dimStore;
  Array<Lane> lanes;
  Array<WorkerStart> starts;

  /// Requests that no batch has taken yet.
  int32_t waitingCount() const { return int32_t(uint32_t(arrived.get() - taken.get())); }
  int64_t waitingRows() const { return int64_t(arrivedRows.get() - takenRows.get()); }
  void noteTaken(uint64_t requests, uint64_t rows) {
    taken.add(requests);
    takenRows.add(rows);
  }

  alignas(64) Mutex door;
  // Behind the door; counters may be read elsewhere.
  FreeList freePlaces;
  Intake intake;
  Counter arrived, arrivedRows;
  StampClock stamps;
  uint32_t underWay = 0;              ///< accepted and not completed
  uint32_t sleepers = 0, holders = 0; ///< workers that hold a batch open: holders
  uint32_t waking = 0;                ///< of both, woken and not yet here
  uint32_t blocked = 0;               ///< threads that wait for a place
  std::atomic<uint32_t> closing{0}, drainers{0};
  std::atomic<uint32_t> freeBell{0}, idleBell{0};
  alignas(64) std::atomic<uint32_t> bell{0};
  std::atomic<uint32_t> stopping{0};
  std::atomic<uint32_t> visitors{0};
  std::atomic<uint64_t> admittedUntil{0};
  std::atomic<uint64_t> refusedFull{0}, refusedRate{0}, refusedDeadline{0};
  /// Nanoseconds, of the latest batches, for predictions without the lock.
  std::atomic<uint64_t> timePerRow{0}, timePerBatch{0};
  std::atomic<uint32_t> numRunning{0}; ///< batches
  /// How many requests should wake a holder.
  std::atomic<int32_t> holdTarget{0};

  alignas(64) Mutex lock;
  Counter taken, takenRows; ///< may be read elsewhere
  uint64_t intakeCount = 0; ///< all that came so far, at the last look
  Scheduler scheduler;
  kiln_batcher_stats counts = {};
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_BATCHER_H
