//===- Metrics.cpp - Counts and times of a model's runs -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Metrics.h"

#include "MetricsText.h"
#include "Model.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace kiln::rt {

void Metrics::add(RunCounts &counts) {
  PatientLock::Hold hold(lock);
  counts.next = first;
  first = &counts;
}

void Metrics::remove(RunCounts &counts) {
  PatientLock::Hold hold(lock);
  for (RunCounts **at = &first; *at; at = &(*at)->next)
    if (*at == &counts) {
      *at = counts.next;
      break;
    }
  sum(counts, gone);
}

void Metrics::sum(const RunCounts &counts, kiln_metrics &into) {
  into.runs += counts.runs.get();
  into.plans += counts.plans.get();
  into.run_time_ns += counts.runTime.get();
  into.longest_ns = std::max(into.longest_ns, counts.longest.get());
  into.device_failures += counts.deviceFailures.get();
  into.twin_runs += counts.isTwin ? counts.runs.get() : 0;
  for (uint32_t i = 0; i != KILN_METRICS_STATUSES; ++i)
    into.failures[i] += counts.failures[i].get();
  for (uint32_t i = 0; i != KILN_METRICS_TIME_BUCKETS; ++i) {
    into.times[i] += counts.times[i].get();
    into.timed_runs += counts.times[i].get();
  }
}

void Metrics::fill(kiln_metrics &out) {
  kiln_metrics metrics;
  {
    PatientLock::Hold hold(lock);
    metrics = gone;
    for (const RunCounts *counts = first; counts; counts = counts->next) {
      sum(*counts, metrics);
      metrics.sessions += !counts->isTwin;
    }
  }
  metrics.struct_size = std::min(out.struct_size, sizeof metrics);
  std::memcpy(&out, &metrics, metrics.struct_size);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// From 1 us to 17 s; what lies outside is in the first and the last.
constexpr uint32_t kFirstTime = 9, kLastTime = 33;

} // namespace

void MetricsText::print(const char *format, ...) {
  va_list args;
  va_start(args, format);
  size_t room = out && used < size ? size - used : 0;
  int written = std::vsnprintf(room ? out + used : nullptr, room, format, args);
  va_end(args);
  used += written > 0 ? size_t(written) : 0;
}

void MetricsText::beginSample(const char *name, const char *labels) {
  print("kiln_%s{model=\"", name);
  for (const char *at = model; *at; ++at) {
    if (*at == '\n')
      print("\\n");
    else
      print(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
  }
  print("\"%s} ", labels);
}

void MetricsText::sample(const char *name, const char *labels, uint64_t value) {
  beginSample(name, labels);
  print("%llu\n", static_cast<unsigned long long>(value));
}

void MetricsText::histogram(const char *name, const char *help, const uint64_t *buckets,
                            uint32_t first, uint32_t last, uint32_t count, uint64_t sum,
                            bool isTime) {
  head(name, "histogram", help);
  uint64_t below = 0;
  char part[64], labels[64], limit[32];
  std::snprintf(part, sizeof part, "%s_bucket", name);
  for (uint32_t i = 0; i != count; ++i) {
    below += buckets[i];
    if (i < first || i > last)
      continue;
    if (isTime)
      formatSeconds(limit, uint64_t(2) << i);
    else // counts are whole: the largest below the next power of two
      std::snprintf(limit, sizeof limit, "%llu",
                    static_cast<unsigned long long>((uint64_t(2) << i) - 1));
    std::snprintf(labels, sizeof labels, ",le=\"%s\"", limit);
    sample(part, labels, below);
  }
  sample(part, ",le=\"+Inf\"", below);
  std::snprintf(part, sizeof part, "%s_sum", name);
  if (isTime) {
    formatSeconds(limit, sum);
    beginSample(part, "");
    print("%s\n", limit);
  } else {
    sample(part, "", sum);
  }
  std::snprintf(part, sizeof part, "%s_count", name);
  sample(part, "", below);
}

void MetricsText::times(const char *name, const char *help, const uint64_t *buckets, uint32_t count,
                        uint64_t sum) {
  histogram(name, help, buckets, kFirstTime, kLastTime, count, sum, true);
}

void MetricsText::sizes(const char *name, const char *help, const uint64_t *buckets, uint32_t count,
                        uint64_t sum) {
  histogram(name, help, buckets, 0, count - 1, count, sum, false);
}

void MetricsText::formatSeconds(char (&text)[32], uint64_t nanoseconds) {
  constexpr uint64_t second = 1000000000;
  std::snprintf(text, sizeof text, "%llu.%09llu",
                static_cast<unsigned long long>(nanoseconds / second),
                static_cast<unsigned long long>(nanoseconds % second));
}

size_t writeMetrics(Model &model, char *text, size_t size) {
  MetricsText out(model.module.name, text, size);
  kiln_metrics metrics = {};
  metrics.struct_size = sizeof metrics;
  model.metrics.fill(metrics);
  out.single("sessions", "gauge", "Sessions that are alive", metrics.sessions);
  out.single("runs_total", "counter", "Runs, failed ones included", metrics.runs);
  out.head("run_failures_total", "counter", "Failed runs by status");
  for (uint32_t i = 1; i != KILN_METRICS_STATUSES; ++i) {
    const char *name = kiln_status_name(kiln_status_t(i));
    char labels[64];
    std::snprintf(labels, sizeof labels, ",status=\"%s\"", name);
    if (std::strcmp(name, "unknown status") != 0)
      out.sample("run_failures_total", labels, metrics.failures[i]);
  }
  out.single("device_failures_total", "counter", "Runs that a device could not make",
             metrics.device_failures);
  out.single("twin_runs_total", "counter", "Runs of the CPU in the place of a failed device",
             metrics.twin_runs);
  out.single("plans_total", "counter", "Shape tuples that had to be planned", metrics.plans);
  out.times("run_seconds", "Length of runs, of sessions that time them", metrics.times,
            KILN_METRICS_TIME_BUCKETS, metrics.run_time_ns);

  kiln_pool_stats pool = {};
  pool.struct_size = sizeof pool;
  kiln_pool_get_stats(model.pool, &pool);
  out.head("pool_bytes", "gauge", "Memory of the model's own pool");
  out.sample("pool_bytes", ",kind=\"reserved\"", pool.reserved);
  out.sample("pool_bytes", ",kind=\"static\"", pool.static_used);
  out.sample("pool_bytes", ",kind=\"used\"", pool.used);
  out.sample("pool_bytes", ",kind=\"cached\"", pool.cached);
  out.sample("pool_bytes", ",kind=\"free\"", pool.free_bytes);
  out.single("pool_peak_bytes", "gauge", "Most that the pool ever reserved", pool.peak_reserved);
  out.head("pool_allocations_total", "counter", "Allocations by where they were served");
  out.sample("pool_allocations_total", ",from=\"cache\"", pool.cache_hits);
  out.sample("pool_allocations_total", ",from=\"ring\"", pool.ring_hits);
  out.sample("pool_allocations_total", ",from=\"slab\"", pool.slab_hits);
  out.sample("pool_allocations_total", ",from=\"source\"", pool.huge_allocations);
  out.single("pool_failures_total", "counter", "Allocations that found no memory", pool.failures);
  out.single("pool_trims_total", "counter", "Times that unused memory was given back", pool.trims);

  kiln_integrity_stats watch = {};
  watch.struct_size = sizeof watch;
  model.fillIntegrity(watch);
  out.single("weight_checked_bytes_total", "counter", "Weights compared with their checksums",
             watch.checked_bytes);
  out.single("weight_damaged_total", "counter", "Findings of damage in weights", watch.damaged);
  out.single("weight_reloaded_total", "counter", "Weights read again", watch.reloaded);
  out.single("runs_recomputed_total", "counter", "Runs made again after that",
             watch.recomputed_runs);
  out.single("runs_refused_total", "counter", "Runs refused by the circuit breaker",
             watch.refused_runs);
  out.single("outputs_not_finite_total", "counter", "Runs with NaN or infinity in an output",
             watch.not_finite_runs);
  out.single("breaker_state", "gauge", "0 closed, 1 open, 2 half open", watch.breaker);
  return out.length();
}

} // namespace kiln::rt
