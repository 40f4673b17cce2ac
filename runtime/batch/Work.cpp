//===- Work.cpp - Requests that share runs: who runs them -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batcher.h"

#include "Cpu.h"

#include <algorithm>
#include <utility>

namespace kiln::rt {

/// Nanoseconds that an idle worker stays awake at most, unless the options say so.
static constexpr uint64_t kLongestSpin = 50 * kNsPerUs;

void Batcher::ring(uint32_t wake) {
  bell.fetch_add(1, std::memory_order_seq_cst);
  futexWake(bell, int(wake));
}

void *Batcher::enterWorker(void *opaque) {
  const auto *start = static_cast<WorkerStart *>(opaque);
  Batcher &batcher = *start->batcher;
  if (batcher.pinWorkers)
    batcher.cpus.pin(start->index);
  batcher.workerLoop(start->index);
  return nullptr;
}

Lane *Batcher::takeLane(uint32_t preferred) {
  for (uint32_t i = 0; i != lanes.size(); ++i)
    if (Lane &lane = lanes[(preferred + i) % lanes.size()]; lane.acquire())
      return &lane;
  return nullptr;
}

void Batcher::giveLaneBack(Lane &lane) {
  lane.release();
  // Whoever found no lane meanwhile relies on this.
  if (stopping.load(std::memory_order_seq_cst))
    ring();
  else
    wakeWorker();
}

void Batcher::wakeWorker() {
  bool wakes;
  {
    Locked locked(door);
    wakes = waitingCount() > 0 && sleepers > waking;
    waking += wakes;
    if (wakes)
      bell.fetch_add(1, std::memory_order_seq_cst);
  }
  if (wakes)
    futexWake(bell, 1);
}

void Batcher::workerLoop(uint32_t index) {
  // How long this worker is idle at a time, lately. The mean gap of requests would not
  // do: those that come in bursts are close, and yet no burst follows soon.
  uint64_t idleSince = nanoseconds(), meanIdle = 0;
  bool wasIdle = false;
  for (;;) {
    uint32_t seen = bell.load(std::memory_order_seq_cst);
    uint64_t until = kForever;
    Served served = Served::Busy;
    uint64_t picked = 0;
    if (Lane *lane = takeLane(index)) {
      served = serve(*lane, /*mayHold=*/true, until);
      picked = lane->batch.picked;
      lane->release();
    }
    if (served == Served::Ran) {
      if (std::exchange(wasIdle, false)) {
        // A long pause is told from a short one, and no more.
        uint64_t spell = std::min(picked - idleSince, 2 * kLongestSpin);
        meanIdle = meanIdle ? (meanIdle * 7 + spell) / 8 : spell;
      }
      idleSince = nanoseconds();
      continue;
    }
    wasIdle = true;
    if (served != Served::Hold && stopping.load(std::memory_order_seq_cst))
      return;
    if (served != Served::Hold && nanoseconds() - idleSince < spinTime(meanIdle)) {
      for (int i = 0; i != 16 && waitingCount() <= 0; ++i)
        pauseCpu();
      continue;
    }
    park(seen, served, until);
  }
}

uint64_t Batcher::spinTime(uint64_t meanIdle) const {
  if (options.spin_us || !staysAwake)
    return options.spin_us * kNsPerUs;
  // Of pauses that end at random, one in fifty is longer than four mean ones.
  return meanIdle && meanIdle < kLongestSpin ? std::min(4 * meanIdle, kLongestSpin) : 0;
}

/// Sleeps until the bell is not what it was, or something came: for a holder,
/// enough of it, or until its time is over.
void Batcher::park(uint32_t seenBell, Served why, uint64_t until) {
  // A timer is late by so much: shorter times are waited out.
  constexpr uint64_t timerSlack = 60 * kNsPerUs;
  bool holds = why == Served::Hold;
  uint32_t &counter = holds ? holders : sleepers;
  {
    Locked locked(door);
    int32_t waiting = waitingCount();
    // What waits and could not be picked is no news. Without a lane there is no use in
    // looking; who has it will ring.
    bool mustLook = holds                    ? waiting >= holdTarget.load(std::memory_order_relaxed)
                    : why == Served::Nothing ? !intake.empty()
                                             : waiting > 0 && hasFreeLane();
    if (mustLook || bell.load(std::memory_order_seq_cst) != seenBell)
      return;
    ++counter;
  }
  while (bell.load(std::memory_order_seq_cst) == seenBell) {
    uint64_t now = holds ? nanoseconds() : 0;
    if (holds && now >= until)
      break;
    if (holds && until - now < timerSlack) {
      for (int i = 0; i != 8; ++i)
        pauseCpu();
      continue;
    }
    futexWait(bell, seenBell, holds ? until - now - timerSlack / 2 : kForever);
  }
  Locked locked(door);
  --counter;
  waking -= waking != 0;
}

bool Batcher::hasFreeLane() const {
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane &lane) { return lane.isFree(); });
}

void Batcher::takeIntake() {
  if (arrived.get() == intakeCount)
    return;
  Request *request;
  {
    Locked locked(door);
    request = intake.takeAll();
    intakeCount = arrived.get();
  }
  while (request) {
    Request *next = request->next;
    scheduler.add(*request);
    request = next;
  }
  counts.waiting_peak = std::max(counts.waiting_peak, scheduler.waiting());
}

uint64_t Batcher::giveUpExpired() {
  for (;;) {
    // Callbacks take their time, in which other requests expire.
    uint64_t now = nanoseconds();
    Request *request = scheduler.takeExpired(now);
    if (!request)
      return now;
    noteTaken(1, request->rows);
    // A callback may want the lock.
    lock.unlock();
    giveUp(*request, KILN_DEADLINE, now);
    lock.lock();
  }
}

Batcher::Served Batcher::serve(Lane &lane, bool mayHold, uint64_t &until) {
  if (waitingCount() <= 0)
    return Served::Nothing;
  bool eager = !mayHold || drainers.load(std::memory_order_seq_cst);
  {
    Locked locked(lock);
    takeIntake();
    uint64_t now = giveUpExpired();
    Scheduler::Pick pick = scheduler.pick(now, eager, lane.batch);
    if (pick == Scheduler::Pick::Nothing)
      return Served::Nothing;
    if (pick == Scheduler::Pick::Hold) {
      until = scheduler.holdUntil;
      int64_t target = scheduler.waiting() + int64_t(scheduler.holdRows);
      holdTarget.store(int32_t(std::min<int64_t>(target, INT32_MAX)), std::memory_order_relaxed);
      return Served::Hold;
    }
    counts.by_callers += !mayHold;
    lane.usesTwin = options.twin && scheduler.load.level();
    uint64_t wholeRequests = 0;
    for (uint32_t i = 0; i != lane.batch.count; ++i) {
      const BatchItem &item = lane.batch.items[i];
      if (item.firstRow == 0) {
        countInto(counts.queue_times, KILN_BATCHER_TIMES, now - item.request->arrival);
        counts.queue_ns += now - item.request->arrival;
      }
      wholeRequests += item.request->rowsTaken == item.request->rows;
    }
    noteTaken(wholeRequests, lane.batch.rows);
    numRunning.fetch_add(1, std::memory_order_relaxed);
  }
  // For what is left over.
  if (lanes.size() > 1)
    wakeWorker();
  runBatch(lane);
  return Served::Ran;
}

/// The results of an item, to where its request wants them.
void Batcher::deliver(Lane &lane, uint32_t index, kiln_status_t status) {
  BatchItem &item = lane.batch.items[index];
  Request &request = *item.request;
  if (status == KILN_OK)
    status = lane.deliver(index);
  if (status != KILN_OK)
    request.status.store(status, std::memory_order_relaxed);
  item.isLast = item.rows == request.rows ||
                request.rowsLeft.fetch_sub(item.rows, std::memory_order_acq_rel) == item.rows;
  // Of another part's, the request may be gone.
  if (item.isLast)
    item.status = request.status.load(std::memory_order_relaxed);
}

void Batcher::finishItem(Lane &lane, uint32_t index, Leaving &leaving) {
  const BatchItem &item = lane.batch.items[index];
  if (!item.isLast)
    return;
  Request &request = *item.request;
  const DLTensor *const *outputs = nullptr;
  if (item.status == KILN_OK && request.callback)
    outputs = request.hasOutputs ? request.outputs : lane.view(index);
  complete(request, item.status, outputs, leaving);
}

void Batcher::runBatch(Lane &lane) {
  Batch &batch = lane.batch;
  uint64_t start = nanoseconds();
  kiln_status_t status = lane.run();
  uint64_t end = nanoseconds(), time = end - start;
  uint32_t rows = batch.rows, items = batch.count;
  // One bad request must not fail the others, and each has its own reason.
  bool again = status != KILN_OK && items > 1;
  for (uint32_t i = 0; !again && i != items; ++i)
    deliver(lane, i, status);
  auto countItem = [&](const BatchItem &item, uint64_t now) {
    if (!item.isLast)
      return;
    countEnd(*item.request, item.status, now);
    scheduler.load.noteRequest(now - item.request->arrival);
  };
  {
    Locked locked(lock);
    scheduler.finished(batch, status == KILN_OK && !lane.usesTwin ? time : 0);
    numRunning.fetch_sub(1, std::memory_order_relaxed);
    ++counts.batches;
    counts.rows += rows;
    counts.direct += lane.tookDirectly;
    counts.slow_batches += batch.isSlow;
    counts.twin_batches += lane.usesTwin;
    counts.busy_ns += time;
    countInto(counts.batch_sizes, KILN_BATCHER_SIZES, rows);
    countInto(counts.run_times, KILN_BATCHER_TIMES, time);
    counts.retries += again ? items : 0;
    uint64_t lateBefore = counts.late;
    for (uint32_t i = 0; !again && i != items; ++i)
      countItem(batch.items[i], end);
    constexpr uint64_t unexpected = 100 * kNsPerUs;
    if (end - batch.picked > 2 * batch.expected + unexpected)
      counts.late_overrun += counts.late - lateBefore;
    scheduler.load.evaluate(end);
  }
  auto blend = [](std::atomic<uint64_t> &mean, uint64_t value) {
    uint64_t old = mean.load(std::memory_order_relaxed);
    mean.store(old ? (old * 7 + value) / 8 : value, std::memory_order_relaxed);
  };
  if (status == KILN_OK) {
    blend(timePerRow, time / rows);
    blend(timePerBatch, time);
  }
  Leaving leaving(*this);
  for (uint32_t i = 0; i != items; ++i) {
    uint32_t index = i;
    if (again) {
      deliver(lane, 0, lane.runAlone(i));
      index = 0;
      Locked locked(lock);
      countItem(batch.items[0], nanoseconds());
    }
    finishItem(lane, index, leaving);
  }
}

} // namespace kiln::rt
