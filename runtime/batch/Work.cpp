//===- Work.cpp - Requests that share runs: who runs them -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batcher.h"

#include "Cpu.h"

namespace kiln::rt {

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
  if (!intake.empty() || waitingCount.load(std::memory_order_seq_cst) > 0 ||
      stopping.load(std::memory_order_seq_cst))
    ring();
}

void Batcher::workerLoop(uint32_t index) {
  uint64_t idleSince = nanoseconds();
  for (;;) {
    uint32_t seen = bell.load(std::memory_order_seq_cst);
    uint64_t until = kForever;
    Served served = Served::Busy;
    if (Lane *lane = takeLane(index)) {
      served = serve(*lane, /*mayHold=*/true, until);
      lane->release();
    }
    if (served == Served::Ran) {
      idleSince = nanoseconds();
      continue;
    }
    if (served != Served::Hold && stopping.load(std::memory_order_seq_cst))
      return;
    if (served != Served::Hold && options.spin_us &&
        nanoseconds() - idleSince < options.spin_us * kNsPerUs) {
      for (int i = 0; i != 16 && intake.empty(); ++i)
        pauseCpu();
      continue;
    }
    park(seen, served, until);
  }
}

/// Sleeps until the bell is not what it was, or something came: for a holder,
/// enough of it, or until its time is over.
void Batcher::park(uint32_t seenBell, Served why, uint64_t until) {
  // A timer is late by so much: shorter times are waited out.
  constexpr uint64_t timerSlack = 60 * kNsPerUs;
  bool holds = why == Served::Hold;
  std::atomic<uint32_t> &counter = holds ? holders : sleepers;
  counter.fetch_add(1, std::memory_order_seq_cst);
  auto mustLook = [&] {
    if (bell.load(std::memory_order_seq_cst) != seenBell)
      return true;
    if (holds)
      return waitingCount.load(std::memory_order_seq_cst) >=
             holdTarget.load(std::memory_order_relaxed);
    // Without a lane there is no use in looking; who has it will ring.
    return why == Served::Nothing && !intake.empty();
  };
  while (!mustLook()) {
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
  counter.fetch_sub(1, std::memory_order_seq_cst);
}

void Batcher::takeIntake() {
  for (Request *request = intake.takeAll(); request;) {
    Request *next = request->next;
    scheduler.add(*request);
    request = next;
  }
  counts.waiting_peak = std::max(counts.waiting_peak, scheduler.waiting());
}

void Batcher::giveUpExpired(uint64_t now) {
  while (Request *request = scheduler.takeExpired(now)) {
    waitingCount.fetch_sub(1, std::memory_order_seq_cst);
    waitingRows.fetch_sub(int64_t(request->rows), std::memory_order_relaxed);
    // A callback may want the lock.
    lock.unlock();
    complete(*request, KILN_DEADLINE, nullptr, now);
    lock.lock();
  }
}

Batcher::Served Batcher::serve(Lane &lane, bool mayHold, uint64_t &until) {
  if (waitingCount.load(std::memory_order_seq_cst) <= 0 && intake.empty())
    return Served::Nothing;
  uint64_t now = nanoseconds();
  bool eager = !mayHold || drainers.load(std::memory_order_seq_cst);
  {
    Locked locked(lock);
    takeIntake();
    giveUpExpired(now);
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
    int32_t wholeRequests = 0;
    for (uint32_t i = 0; i != lane.batch.count; ++i) {
      const BatchItem &item = lane.batch.items[i];
      if (item.firstRow == 0) {
        countInto(counts.queue_times, KILN_BATCHER_TIMES, now - item.request->arrival);
        counts.queue_ns += now - item.request->arrival;
      }
      wholeRequests += item.request->rowsTaken == item.request->rows;
    }
    waitingCount.fetch_sub(wholeRequests, std::memory_order_seq_cst);
    waitingRows.fetch_sub(int64_t(lane.batch.rows), std::memory_order_relaxed);
    numRunning.fetch_add(1, std::memory_order_relaxed);
  }
  // For what is left over.
  if (waitingCount.load(std::memory_order_seq_cst) > 0 && sleepers.load(std::memory_order_seq_cst))
    ring();
  runBatch(lane);
  return Served::Ran;
}

void Batcher::runBatch(Lane &lane) {
  uint64_t start = nanoseconds();
  kiln_status_t status = lane.run();
  uint64_t end = nanoseconds(), time = end - start;
  uint32_t rows = lane.batch.rows, items = lane.batch.count;
  {
    Locked locked(lock);
    scheduler.finished(lane.batch, status == KILN_OK && !lane.usesTwin ? time : 0);
    numRunning.fetch_sub(1, std::memory_order_relaxed);
    ++counts.batches;
    counts.rows += rows;
    counts.direct += lane.tookDirectly;
    counts.slow_batches += lane.batch.isSlow;
    counts.twin_batches += lane.usesTwin;
    counts.busy_ns += time;
    countInto(counts.batch_sizes, KILN_BATCHER_SIZES, rows);
    countInto(counts.run_times, KILN_BATCHER_TIMES, time);
    counts.retries += status != KILN_OK && items > 1 ? items : 0;
    for (uint32_t i = 0; i != items; ++i)
      scheduler.load.noteRequest(end - lane.batch.items[i].request->arrival);
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
  // One bad request must not fail the others, and each has its own reason.
  if (status != KILN_OK && items > 1) {
    for (uint32_t i = 0; i != items; ++i) {
      kiln_status_t own = lane.runAlone(i);
      finishItem(lane, 0, own, nanoseconds());
    }
    return;
  }
  for (uint32_t i = 0; i != items; ++i)
    finishItem(lane, i, status, end);
}

void Batcher::finishItem(Lane &lane, uint32_t item, kiln_status_t status, uint64_t now) {
  Request &request = *lane.batch.items[item].request;
  uint32_t rows = lane.batch.items[item].rows;
  if (status == KILN_OK)
    status = lane.deliver(item);
  if (status != KILN_OK)
    request.status.store(status, std::memory_order_relaxed);
  if (request.rowsLeft.fetch_sub(rows, std::memory_order_acq_rel) != rows)
    return;
  status = request.status.load(std::memory_order_relaxed);
  const DLTensor *const *outputs = nullptr;
  if (status == KILN_OK && request.callback)
    outputs = request.hasOutputs ? request.outputs : lane.view(item);
  complete(request, status, outputs, now);
}

} // namespace kiln::rt
