//===- Executor.cpp - Threads that work through a launch together ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Executor.h"

#include "Cpu.h"
#include "RunPolicy.h"
#include "Threads.h"

#include <algorithm>
#include <climits>

namespace kiln::rt {
namespace {

constexpr uint64_t kMicrosecond = 1000;
/// A thread waits for another's chunk for as long as such a chunk takes, and
/// this much more; then the other was most likely preempted.
constexpr uint64_t kStall = 50 * kMicrosecond;
constexpr uint64_t kChunksOfPatience = 3;
/// The same while no chunk of the launch has ended.
constexpr uint64_t kFirstChunkStall = 1000 * kMicrosecond;
/// How long a worker stays awake between two launches of a run.
constexpr uint64_t kSpinInRun = 300 * kMicrosecond;
/// Waking costs the caller 5-15 us and the worker is late by 3-11: measured to
/// break even near this length of the work ahead.
constexpr uint64_t kWorthWaking = 250 * kMicrosecond;
/// With a worker that is awake anyway, a team pays from here.
constexpr uint64_t kWorthSharing = 30 * kMicrosecond;
constexpr uint64_t kWakeInterval = 200 * kMicrosecond;
/// Between wakes for short runs that follow each other closely.
constexpr uint64_t kShortRunWakeInterval = 10000 * kMicrosecond;

// The ticket word: phase in the upper half, then chunks, then the next chunk,
// with room for every waiting thread to add once too often.
constexpr unsigned kNextBits = 24;
constexpr unsigned kChunkBits = 8;
constexpr uint64_t makeTicket(uint32_t phase, uint32_t chunks) {
  return uint64_t(phase) << (kNextBits + kChunkBits) | uint64_t(chunks) << kNextBits;
}
constexpr uint32_t nextOf(uint64_t ticket) { return ticket & ((1u << kNextBits) - 1); }
constexpr uint32_t chunksOf(uint64_t ticket) {
  return ticket >> kNextBits & ((1u << kChunkBits) - 1);
}
constexpr uint32_t phaseOf(uint64_t ticket) { return uint32_t(ticket >> (kNextBits + kChunkBits)); }

void runChunk(const kiln_executor_launch &launch, uint32_t chunk, uint32_t slot) {
  int64_t begin = launch.extent * chunk / launch.chunks;
  int64_t end = launch.extent * (chunk + 1) / launch.chunks;
  if (begin != end)
    launch.kernel(launch.args, begin, end, launch.scratch + slot * launch.scratch_stride);
}

} // namespace

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

kiln_status_t Executor::create(const kiln_executor_options *given, kiln_executor **executor) {
  if (!executor)
    return KILN_INVALID_ARGUMENT;
  *executor = nullptr;
  kiln_executor_options options;
  if (!readOptions(&options, sizeof options, given))
    return KILN_INVALID_ARGUMENT;
  ErrorText error;
  kiln_status_t status = KILN_OK;
  constexpr uint32_t absurdThreads = 4096, absurdSpin = 100000;
  if (options.threads > absurdThreads)
    status = error.fail(KILN_INVALID_ARGUMENT, "threads: expected 0 to %u, got %u", absurdThreads,
                        options.threads);
  else if (options.spin_us > absurdSpin)
    status = error.fail(KILN_INVALID_ARGUMENT, "spin_us: expected 0 to %u, got %u", absurdSpin,
                        options.spin_us);
  CpuList cpus;
  if (status == KILN_OK && (options.pin || options.cpus) && !cpus.parse(options.cpus))
    status = error.fail(KILN_INVALID_ARGUMENT, "cpus: '%s' is no list of CPUs that may be used",
                        options.cpus ? options.cpus : "");
  if (status == KILN_OK) {
    uint32_t threads = options.threads ? options.threads : countUsableCpus();
    auto *made = createObject<Executor>(options, cpus, std::min(threads, kMaxThreads));
    if (made && made->guard.create()) {
      *executor = made;
    } else {
      if (made)
        destroyObject(made);
      status = error.fail(KILN_OUT_OF_MEMORY, "no memory for an executor");
    }
  }
  error.copyTo(options.error, options.error_size);
  return status;
}

Executor::Executor(const kiln_executor_options &options, const CpuList &cpus, uint32_t threads)
    : numThreads(threads), pinWorkers(options.pin || options.cpus), cpus(cpus),
      spin((options.spin_us ? options.spin_us : 100) * kMicrosecond),
      parallelFor(options.parallel_for), parallelForUser(options.parallel_for_user),
      idleSpin(spin) {
  api = &table;
}

Executor::~Executor() { stopWorkers(); }

kiln_status_t Executor::destroy() {
  if (users.load(std::memory_order_acquire))
    return KILN_BUSY;
  // In a child the workers exist no more, and must not be waited for.
  if (acquire())
    destroyObject(this);
  else
    return KILN_BUSY;
  return KILN_OK;
}

void Executor::startWorkers() {
  triedToStart = true;
  stopping.store(false, std::memory_order_relaxed);
  while (numWorkers + 1 < numThreads) {
    starts[numWorkers] = {this, numWorkers + 1};
    // With fewer threads than asked for, work still gets done.
    if (!startThread(workers[numWorkers], enterWorker, &starts[numWorkers]))
      break;
    ++numWorkers;
  }
}

void Executor::stopWorkers() {
  stopping.store(true, std::memory_order_seq_cst);
  wakeAll();
  for (; numWorkers; --numWorkers)
    pthread_join(workers[numWorkers - 1], nullptr);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

bool Executor::acquire() {
  uint64_t free = guard.generation() << 1;
  uint64_t seen = free;
  if (lock.compare_exchange_strong(seen, free | 1, std::memory_order_acquire))
    return true;
  if (seen >> 1 == free >> 1)
    return false;
  // Of another generation: either the first use of all, or this is a child.
  if (!lock.compare_exchange_strong(seen, free | 1, std::memory_order_acquire))
    return false;
  if (seen)
    resetAfterFork();
  return true;
}

void Executor::release() {
  lock.store(lock.load(std::memory_order_relaxed) & ~uint64_t(1), std::memory_order_release);
}

void Executor::resetAfterFork() {
  numWorkers = 0;
  triedToStart = false;
  lastEnd = meanGap = nextWake = 0;
  ticket.store(0, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
  callerAsleep.store(0, std::memory_order_relaxed);
  parked.store(0, std::memory_order_relaxed);
  stalled.store(false, std::memory_order_relaxed);
}

/// Staying awake between runs pays only when the next one comes soon.
void Executor::noteGap(uint64_t now) {
  if (!lastEnd)
    return;
  int64_t gap = int64_t(std::min(now - lastEnd, 16 * spin));
  meanGap = uint64_t(int64_t(meanGap) + (gap - int64_t(meanGap)) / 4);
  idleSpin.store(meanGap < spin ? spin : 0, std::memory_order_relaxed);
}

kiln_executor_turn Executor::begin(kiln_executor_history &history) {
  RunPolicy &runPolicy = RunPolicy::of(history);
  // A host's loop keeps nothing here: any number of runs may use it at once.
  if (parallelFor)
    return KILN_EXECUTOR_TEAM;
  runPolicy.turn = RunPolicy::Turn::Untimed;
  if (numThreads == 1 || runPolicy.neverShares() || !acquire())
    return KILN_EXECUTOR_ALONE;
  uint64_t now = nanoseconds();
  bool clearStalls;
  bool alone = runPolicy.begin(now, clearStalls);
  if (clearStalls)
    stalled.store(false, std::memory_order_relaxed);
  if (alone) {
    runPolicy.turn = RunPolicy::Turn::Alone;
    release();
    return KILN_EXECUTOR_ALONE;
  }
  runPolicy.turn = RunPolicy::Turn::Team;
  policy = &runPolicy;
  sharedLaunches = 0;
  noteGap(now);
  inRun.store(true, std::memory_order_relaxed);
  return KILN_EXECUTOR_TEAM;
}

void Executor::end(kiln_executor_history &history) {
  RunPolicy &runPolicy = RunPolicy::of(history);
  if (parallelFor || runPolicy.turn == RunPolicy::Turn::Untimed)
    return;
  uint64_t now = nanoseconds();
  if (runPolicy.turn == RunPolicy::Turn::Alone)
    return runPolicy.end(now, [] { return false; });
  runPolicy.noteLaunches(sharedLaunches);
  runPolicy.end(now, [this] { return stalled.exchange(false, std::memory_order_relaxed); });
  inRun.store(false, std::memory_order_relaxed);
  lastEnd = now;
  policy = nullptr;
  release();
}

void Executor::launch(const kiln_executor_launch &request) {
  if (request.extent <= 0)
    return;
  if (request.chunks == 1)
    return runChunk(request, 0, 0);
  if (parallelFor)
    return hostLaunch(request);
  ++sharedLaunches;
  if (!triedToStart)
    startWorkers();
  current = request;
  chunkTime.store(0, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
  uint32_t phase = phaseOf(ticket.load(std::memory_order_relaxed)) + 1;
  ticket.store(makeTicket(phase, request.chunks), std::memory_order_seq_cst);
  if (parked.load(std::memory_order_seq_cst))
    wakeIfWorthwhile();
  work(0);
  waitForChunks(request.chunks);
}

void Executor::hostLaunch(const kiln_executor_launch &request) {
  // A chunk's number is its slot: nothing else tells the host's threads apart.
  auto body = [](void *context, uint32_t chunk) {
    runChunk(*static_cast<const kiln_executor_launch *>(context), chunk, chunk);
  };
  kiln_executor_launch copy = request;
  parallelFor(parallelForUser, request.chunks, body, &copy);
}

bool Executor::hasWork() const {
  uint64_t seen = ticket.load(std::memory_order_seq_cst);
  return nextOf(seen) < chunksOf(seen);
}

/// Takes chunks while there are any; false when there was none.
bool Executor::work(uint32_t slot) {
  // Looking first keeps idle threads from counting `next` up forever.
  uint64_t seen = ticket.load(std::memory_order_acquire);
  if (nextOf(seen) >= chunksOf(seen))
    return false;
  seen = ticket.fetch_add(1, std::memory_order_acq_rel);
  uint32_t chunk = nextOf(seen), chunks = chunksOf(seen);
  if (chunk >= chunks)
    return false;
  const kiln_executor_launch launch = current;
  uint64_t start = nanoseconds();
  uint32_t finished = 0;
  do {
    runChunk(launch, chunk, slot);
    ++finished;
    if (nextOf(ticket.load(std::memory_order_relaxed)) >= chunks)
      break;
    if (slot == 0 && parked.load(std::memory_order_relaxed))
      wakeIfWorthwhile();
    chunk = nextOf(ticket.fetch_add(1, std::memory_order_acq_rel));
  } while (chunk < chunks);
  chunkTime.store((nanoseconds() - start) / finished, std::memory_order_relaxed);
  // Counted once a thread and phase: one more contended write for each chunk
  // doubled the cost of a phase.
  uint32_t total = done.fetch_add(finished, std::memory_order_seq_cst) + finished;
  if (total == chunks && slot != 0 && callerAsleep.load(std::memory_order_seq_cst))
    futexWake(done, 1);
  return true;
}

uint64_t Executor::stallLimit() const {
  uint64_t typical = chunkTime.load(std::memory_order_relaxed);
  return typical ? kStall + kChunksOfPatience * typical : kFirstChunkStall;
}

void Executor::waitForChunks(uint32_t chunks) {
  uint64_t since = 0;
  for (uint32_t spins = 0; done.load(std::memory_order_acquire) != chunks; ++spins) {
    pauseCpu();
    if (spins % 16 != 15)
      continue;
    uint64_t now = nanoseconds();
    if (!since)
      since = now;
    if (now - since <= stallLimit())
      continue;
    stalled.store(true, std::memory_order_relaxed);
    callerAsleep.store(1, std::memory_order_seq_cst);
    uint32_t counted = done.load(std::memory_order_seq_cst);
    constexpr uint64_t limit = 2000 * kMicrosecond;
    if (counted != chunks)
      futexWait(done, counted, limit);
    callerAsleep.store(0, std::memory_order_relaxed);
    since = 0;
  }
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

void *Executor::enterWorker(void *start) {
  const auto *self = static_cast<WorkerStart *>(start);
  if (self->executor->pinWorkers)
    self->executor->cpus.pin(self->slot);
  self->executor->workerLoop(self->slot);
  return nullptr;
}

void Executor::workerLoop(uint32_t slot) {
  uint64_t idleSince = nanoseconds(), stallSince = 0;
  for (;;) {
    if (work(slot)) {
      idleSince = nanoseconds();
      stallSince = 0;
      continue;
    }
    if (stopping.load(std::memory_order_acquire))
      return;
    pauseCpu();
    pauseCpu();
    uint64_t now = nanoseconds();
    bool chunkInFlight =
        done.load(std::memory_order_relaxed) != chunksOf(ticket.load(std::memory_order_relaxed));
    if (chunkInFlight) {
      if (!stallSince)
        stallSince = now;
      if (now - stallSince <= stallLimit())
        continue;
      stalled.store(true, std::memory_order_relaxed);
    } else {
      stallSince = 0;
      uint64_t limit = inRun.load(std::memory_order_relaxed)
                           ? std::max(spin, kSpinInRun)
                           : idleSpin.load(std::memory_order_relaxed);
      if (now - idleSince <= limit)
        continue;
    }
    park();
    idleSince = nanoseconds();
    stallSince = 0;
  }
}

void Executor::park() {
  uint32_t count = wakeCount.load(std::memory_order_seq_cst);
  parked.fetch_add(1, std::memory_order_seq_cst);
  while (!hasWork() && !stopping.load(std::memory_order_seq_cst) &&
         wakeCount.load(std::memory_order_seq_cst) == count)
    futexWait(wakeCount, count);
  // Who wakes takes all sleepers off the count; one that leaves by itself does
  // so here.
  if (wakeCount.load(std::memory_order_seq_cst) != count)
    return;
  uint32_t left = parked.load(std::memory_order_relaxed);
  while (left && !parked.compare_exchange_weak(left, left - 1, std::memory_order_seq_cst)) {
  }
}

void Executor::wakeAll() {
  parked.store(0, std::memory_order_seq_cst);
  wakeCount.fetch_add(1, std::memory_order_seq_cst);
  futexWake(wakeCount, INT_MAX);
}

void Executor::wakeIfWorthwhile() {
  uint64_t now = nanoseconds();
  if (now < nextWake)
    return;
  uint64_t expected = policy->expectedRun();
  bool first = expected == 0;
  bool longAhead = policy->remaining(now) > kWorthWaking;
  bool closeRuns = expected > kWorthSharing && meanGap < spin / 2;
  if (!first && !longAhead && !closeRuns)
    return;
  nextWake = now + (longAhead ? kWakeInterval : kShortRunWakeInterval);
  wakeAll();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

constinit const kiln_executor_api Executor::table = {
    sizeof(kiln_executor_api),
    KILN_ABI_VERSION,
    [](const kiln_executor *executor) -> uint32_t {
      const auto *self = static_cast<const Executor *>(executor);
      return self->parallelFor ? kMaxThreads : self->numThreads;
    },
    [](const kiln_executor *executor) -> uint32_t {
      const auto *self = static_cast<const Executor *>(executor);
      return self->parallelFor ? kMaxThreads : self->numThreads;
    },
    [](kiln_executor *executor) { of(executor).users.fetch_add(1, std::memory_order_relaxed); },
    [](kiln_executor *executor) { of(executor).users.fetch_sub(1, std::memory_order_release); },
    [](kiln_executor *executor, kiln_executor_history *history) {
      return of(executor).begin(*history);
    },
    [](kiln_executor *executor, const kiln_executor_launch *launch) {
      of(executor).launch(*launch);
    },
    [](kiln_executor *executor, kiln_executor_history *history) { of(executor).end(*history); },
    [](kiln_executor *executor) { return of(executor).destroy(); },
};

} // namespace kiln::rt
