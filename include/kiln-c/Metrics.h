/*===- kiln-c/Metrics.h - Counts, times and plans of what runs ------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Counts are always kept and cost a nanosecond a run. Clocks are read only   *|
|* when a session was made with KILN_SESSION_TIME_RUNS or                     *|
|* KILN_SESSION_PROFILE (Runtime.h).                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_METRICS_H
#define KILN_C_METRICS_H

#include "kiln-c/Status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  KILN_METRICS_STATUSES = 32,
  /* Entry i counts runs of [2^i, 2^(i+1)) nanoseconds. */
  KILN_METRICS_TIME_BUCKETS = 40,
};

/* Of a model: all its sessions, those that are gone included. */
typedef struct kiln_metrics {
  size_t struct_size;
  uint64_t sessions; /* alive */
  uint64_t runs;     /* calls of kiln_run and kiln_run_managed, without KILN_BUSY */
  /* By kiln_status_t; entry KILN_OK is 0. */
  uint64_t failures[KILN_METRICS_STATUSES];
  uint64_t plans; /* shape tuples seen for the first time, or again after they were forgotten */
  /* Of sessions that time their runs. */
  uint64_t timed_runs;
  uint64_t run_time_ns; /* sum */
  uint64_t longest_ns;
  uint64_t times[KILN_METRICS_TIME_BUCKETS];
  /* Since 1.2. Runs that a device could not make, and those of `runs` that the CPU
   * made in the place of a device that had failed. */
  uint64_t device_failures;
  uint64_t twin_runs;
} kiln_metrics;

/* A launch of a session's program, over all its runs since the latest reset.
 * This struct never grows. */
typedef struct kiln_profile_row {
  const char *kernel; /* as in kilnc --emit=plan */
  const char *nodes;  /* ONNX nodes that it computes, comma separated */
  uint64_t launches;
  uint64_t total_ns;
  uint64_t shortest_ns;
  uint64_t longest_ns;
  uint64_t reserved[2];
} kiln_profile_row;

/* One launch, on the clock CLOCK_MONOTONIC (of a device, as its events tell).
 * This struct never grows. */
typedef struct kiln_trace_event {
  uint32_t row;    /* of the profile */
  uint32_t chunks; /* pieces that threads may share */
  uint64_t start_ns;
  uint64_t duration_ns;
} kiln_trace_event;

/* A buffer of the arena, as the session's latest run used it. This struct never
 * grows. */
typedef struct kiln_plan_buffer {
  const char *kernel; /* of the launch that writes it first; "" when none does */
  const char *nodes;
  uint64_t offset;
  uint64_t bytes;
  uint32_t first; /* it lives from this launch to that one, inclusive, or between them */
  uint32_t last;
  uint64_t reserved;
} kiln_plan_buffer;

typedef struct kiln_memory_plan {
  size_t struct_size;
  uint64_t arena_bytes;
  /* The largest sum of bytes that live at one launch: no plan can do with less. */
  uint64_t lower_bound;
  uint64_t scratch_bytes; /* of all threads */
  uint32_t num_buffers;
  uint32_t num_launches;
} kiln_memory_plan;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_METRICS_H */
