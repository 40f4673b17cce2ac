//===- Figures.cpp - What a batcher has done so far -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batcher.h"
#include "MetricsText.h"

#include <cstring>

namespace kiln::rt {

void Batcher::fillStats(kiln_batcher_stats &out) {
  kiln_batcher_stats stats;
  {
    Locked locked(lock);
    stats = counts;
    stats.splits = scheduler.splits;
    stats.closed_early = scheduler.closedEarly;
    stats.batch_limit = scheduler.load.limit();
    stats.level = scheduler.load.level();
    stats.degradations = scheduler.load.degradations;
    stats.recoveries = scheduler.load.recoveries;
  }
  stats.refused_full = refusedFull.load(std::memory_order_relaxed);
  stats.refused_rate = refusedRate.load(std::memory_order_relaxed);
  stats.refused_deadline = refusedDeadline.load(std::memory_order_relaxed);
  stats.accepted = arrived.get();
  stats.waiting = uint32_t(std::max(waitingCount(), 0));
  stats.struct_size = std::min(out.struct_size, sizeof stats);
  std::memcpy(&out, &stats, stats.struct_size);
}

size_t Batcher::writeText(char *text, size_t size) {
  kiln_batcher_stats stats = {};
  stats.struct_size = sizeof stats;
  fillStats(stats);
  kiln_model_info info = {};
  info.struct_size = sizeof info;
  kiln_model_get_info(model, &info);
  MetricsText out(info.name, text, size);
  out.single("batcher_accepted_total", "counter", "Requests that were accepted", stats.accepted);
  out.head("batcher_requests_total", "counter", "Accepted requests by what became of them");
  out.sample("batcher_requests_total", ",result=\"completed\"", stats.completed);
  out.sample("batcher_requests_total", ",result=\"failed\"", stats.failed);
  out.sample("batcher_requests_total", ",result=\"cancelled\"", stats.cancelled);
  out.sample("batcher_requests_total", ",result=\"expired\"", stats.expired);
  out.single("batcher_late_total", "counter", "Completed after their deadline", stats.late);
  out.single("batcher_late_overrun_total", "counter", "Of these, in batches that ran too long",
             stats.late_overrun);
  out.head("batcher_refused_total", "counter", "Requests that were not accepted, by reason");
  out.sample("batcher_refused_total", ",reason=\"full\"", stats.refused_full);
  out.sample("batcher_refused_total", ",reason=\"rate\"", stats.refused_rate);
  out.sample("batcher_refused_total", ",reason=\"deadline\"", stats.refused_deadline);
  out.head("batcher_batches_total", "counter", "Batches by kind; one may be of several");
  out.sample("batcher_batches_total", ",kind=\"all\"", stats.batches);
  out.sample("batcher_batches_total", ",kind=\"direct\"", stats.direct);
  out.sample("batcher_batches_total", ",kind=\"by_caller\"", stats.by_callers);
  out.sample("batcher_batches_total", ",kind=\"closed_early\"", stats.closed_early);
  out.sample("batcher_batches_total", ",kind=\"split\"", stats.splits);
  out.sample("batcher_batches_total", ",kind=\"slow\"", stats.slow_batches);
  out.sample("batcher_batches_total", ",kind=\"twin\"", stats.twin_batches);
  out.single("batcher_retries_total", "counter", "Requests run alone after their batch failed",
             stats.retries);
  out.single("batcher_waiting", "gauge", "Requests that wait", stats.waiting);
  out.single("batcher_waiting_peak", "gauge", "Most that ever waited", stats.waiting_peak);
  out.single("batcher_batch_limit", "gauge", "Rows of a batch, after degradation",
             stats.batch_limit);
  out.single("batcher_stress_level", "gauge", "Steps of degradation", stats.level);
  out.single("batcher_degradations_total", "counter", "Steps down under stress",
             stats.degradations);
  out.single("batcher_recoveries_total", "counter", "Steps up after it", stats.recoveries);
  out.sizes("batcher_batch_rows", "Rows of batches", stats.batch_sizes, KILN_BATCHER_SIZES,
            stats.rows);
  out.times("batcher_queue_seconds", "From submission to the start of the run", stats.queue_times,
            KILN_BATCHER_TIMES, stats.queue_ns);
  out.times("batcher_batch_seconds", "Length of a batch's run", stats.run_times, KILN_BATCHER_TIMES,
            stats.busy_ns);
  out.times("batcher_request_seconds", "From submission to the end of the run", stats.total_times,
            KILN_BATCHER_TIMES, stats.total_ns);
  return out.length();
}

} // namespace kiln::rt
