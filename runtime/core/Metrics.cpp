//===- Metrics.cpp - Counts and times of a model's runs -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Metrics.h"

#include "Model.h"

#include <algorithm>
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
      ++metrics.sessions;
    }
  }
  metrics.struct_size = std::min(out.struct_size, sizeof metrics);
  std::memcpy(&out, &metrics, metrics.struct_size);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// Appends to the caller's memory, and counts what did not fit.
class MetricsText {
public:
  MetricsText(const char *model, char *out, size_t size) : model(model), out(out), size(size) {
    if (out && size)
      *out = 0;
  }

  void head(const char *name, const char *type, const char *help) {
    print("# HELP kiln_%s %s\n# TYPE kiln_%s %s\n", name, help, name, type);
  }
  /// `labels` starts with a comma, or is empty.
  void sample(const char *name, const char *labels, uint64_t value) {
    print("kiln_%s{model=\"", name);
    escape(model);
    print("\"%s} %llu\n", labels, static_cast<unsigned long long>(value));
  }
  void single(const char *name, const char *type, const char *help, uint64_t value) {
    head(name, type, help);
    sample(name, "", value);
  }
  void times(const kiln_metrics &metrics);

  size_t length() const { return used; }

  [[gnu::format(printf, 2, 3)]] void print(const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t room = out && used < size ? size - used : 0;
    int written = std::vsnprintf(room ? out + used : nullptr, room, format, args);
    va_end(args);
    used += written > 0 ? size_t(written) : 0;
  }

private:
  void escape(const char *text) {
    for (; *text; ++text) {
      if (*text == '\n')
        print("\\n");
      else
        print(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
  }

  const char *model;
  char *out;
  size_t size;
  size_t used = 0;
};

/// Seconds without floating point, whose text would depend on the locale.
void formatSeconds(char (&text)[32], uint64_t nanoseconds) {
  constexpr uint64_t second = 1000000000;
  std::snprintf(text, sizeof text, "%llu.%09llu",
                static_cast<unsigned long long>(nanoseconds / second),
                static_cast<unsigned long long>(nanoseconds % second));
}

void MetricsText::times(const kiln_metrics &metrics) {
  head("run_seconds", "histogram", "Length of runs, of sessions that time them");
  uint64_t below = 0;
  char seconds[32], labels[48];
  // From 1 us to 17 s; what lies outside is in the first and the last.
  for (uint32_t i = 0; i != KILN_METRICS_TIME_BUCKETS; ++i) {
    below += metrics.times[i];
    if (i < 9 || i > 33)
      continue;
    formatSeconds(seconds, uint64_t(2) << i);
    std::snprintf(labels, sizeof labels, ",le=\"%s\"", seconds);
    sample("run_seconds_bucket", labels, below);
  }
  sample("run_seconds_bucket", ",le=\"+Inf\"", metrics.timed_runs);
  formatSeconds(seconds, metrics.run_time_ns);
  print("kiln_run_seconds_sum{model=\"");
  escape(model);
  print("\"} %s\n", seconds);
  sample("run_seconds_count", "", metrics.timed_runs);
}

} // namespace

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
  out.single("plans_total", "counter", "Shape tuples that had to be planned", metrics.plans);
  out.times(metrics);

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
