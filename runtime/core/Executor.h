//===- Executor.h - Threads that work through a launch together - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One 64-bit ticket word {phase, chunks, next} says what there is to do. Adding
// one to it gives a chunk of the phase that is current at that very moment, so
// a thread that comes late can never take work of a wrong phase. A phase ends
// when its chunks are counted, not when threads arrive: nobody waits for a
// thread that holds no chunk. Owning a chunk keeps the phase, and with it the
// launch's fields, from changing.
//
// Waiting threads spin, then sleep. A thread that waits for another's chunk for
// longer than such chunks take sleeps at once: most likely the other was
// preempted, and needs the CPU that the waiting would burn.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_EXECUTOR_H
#define KILN_RUNTIME_CORE_EXECUTOR_H

#include "ForkGuard.h"
#include "Support.h"
#include "Threads.h"
#include "kiln-c/Executor.h"

#include <pthread.h>

namespace kiln::rt {

class RunPolicy;

inline constexpr uint32_t kMaxThreads = 16;

class Executor : public kiln_executor {
public:
  /// On failure, the reason goes where the options say.
  static kiln_status_t create(const kiln_executor_options *options, kiln_executor **executor);

  Executor(const kiln_executor_options &options, const CpuList &cpus, uint32_t threads);
  ~Executor();

private:
  static const kiln_executor_api table;
  static Executor &of(kiln_executor *executor) { return *static_cast<Executor *>(executor); }

  kiln_executor_turn begin(kiln_executor_history &history);
  void end(kiln_executor_history &history);
  void launch(const kiln_executor_launch &request);
  kiln_status_t destroy();

  bool acquire();
  void release();
  void resetAfterFork();
  void noteGap(uint64_t now);

  void startWorkers();
  void stopWorkers();
  static void *enterWorker(void *start);
  void workerLoop(uint32_t slot);
  bool work(uint32_t slot);
  void waitForChunks(uint32_t chunks);
  void wakeIfWorthwhile();
  void wakeAll();
  void park();
  bool hasWork() const;
  uint64_t stallLimit() const;
  void hostLaunch(const kiln_executor_launch &request);

  struct WorkerStart {
    Executor *executor;
    uint32_t slot;
  };

  // Read by all, written by few: apart from what changes with every chunk.
  uint32_t numThreads;
  uint32_t numWorkers = 0;
  bool triedToStart = false;
  bool pinWorkers;
  CpuList cpus;
  uint64_t spin;
  kiln_parallel_for_fn parallelFor;
  void *parallelForUser;
  ForkGuard guard;
  std::atomic<uint32_t> users{0};
  pthread_t workers[kMaxThreads];
  WorkerStart starts[kMaxThreads];

  /// generation << 1 | taken: one run at a time; a run that a fork cut off
  /// does not hold the child up.
  alignas(128) std::atomic<uint64_t> lock{0};
  // Of the run that holds the lock.
  RunPolicy *policy = nullptr;
  uint32_t sharedLaunches = 0;
  uint64_t lastEnd = 0;
  uint64_t meanGap = 0;
  uint64_t nextWake = 0;

  alignas(128) std::atomic<uint64_t> ticket{0};
  alignas(128) std::atomic<uint32_t> done{0};
  std::atomic<uint32_t> callerAsleep{0};
  /// Of the launch under way: nanoseconds that a chunk took, 0 before the first.
  std::atomic<uint64_t> chunkTime{0};
  alignas(128) kiln_executor_launch current = {};
  alignas(128) std::atomic<uint32_t> wakeCount{0};
  std::atomic<uint32_t> parked{0};
  std::atomic<bool> stopping{false};
  std::atomic<bool> stalled{false};
  std::atomic<bool> inRun{false};
  /// How long a worker stays awake between runs.
  std::atomic<uint64_t> idleSpin;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_EXECUTOR_H
