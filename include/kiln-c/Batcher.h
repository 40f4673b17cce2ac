/*===- kiln-c/Batcher.h - Requests that share runs ------------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* A batcher takes requests from any number of threads, runs those that fit   *|
|* together as one batch, and gives each its rows. It needs a model that was  *|
|* compiled with --batch-dim and whose rows were proved not to meet           *|
|* (kiln_model_info::separable).                                              *|
|*                                                                            *|
|* A request is a run's inputs with one or more rows. It shares runs with     *|
|* requests whose other dimensions are equal, and whose inputs without rows   *|
|* hold the same bytes. Nothing is padded. Where the order of a kernel's sums *|
|* depends on the size of the batch, so do the last bits of its results.      *|
|*                                                                            *|
|* Memory: inputs are read until the request is done, and must stay. Outputs  *|
|* are either memory of the caller, written once when the request is done, or *|
|* (callback only) views into the batch's result, valid during the callback.  *|
|* Submitting allocates nothing.                                              *|
|*                                                                            *|
|* Threads: every function from any thread, unless it says otherwise. In a    *|
|* child after fork a batcher only answers KILN_UNSUPPORTED, and may be       *|
|* closed. Times are of the monotonic clock: setting the clock changes        *|
|* nothing.                                                                   *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_BATCHER_H
#define KILN_C_BATCHER_H

#include "kiln-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_batcher kiln_batcher;

/* Names a request while it is neither done nor given up; never 0. */
typedef uint64_t kiln_ticket;

/* Called once for each request that was accepted, on a thread of the batcher
 * or in kiln_batcher_cancel, kiln_batcher_close or, with
 * KILN_BATCHER_CALLERS_WORK, kiln_batcher_run. `outputs` are the request's, or
 * the views; NULL when `status` is not KILN_OK. May submit and cancel; must
 * not wait, drain or close. */
typedef void (*kiln_batch_done_fn)(void *user, kiln_ticket ticket, kiln_status_t status,
                                   const DLTensor *const *outputs, uint32_t num_outputs);

enum {
  /* Worker i runs on the i-th CPU of the process's mask only. */
  KILN_BATCHER_PIN = 1u,
  /* A thread in kiln_batcher_run that finds a session free runs the batch
   * itself: saves two thread switches where clients wait. */
  KILN_BATCHER_CALLERS_WORK = 2u,
  /* Learn what batches cost from those that are asked for alone. Else sizes 1, 2,
   * 4 ... are timed at the start, on zeros, when all other dims are known. */
  KILN_BATCHER_NO_TRIAL_RUNS = 4u,
  /* With spin_us 0, an idle worker sleeps at once. Else it stays awake for up to 50 us
   * where its pauses are so short that a sleeper would be woken late, and a CPU is left
   * for others. Since 1.2. */
  KILN_BATCHER_NO_SPIN = 8u,
};

/* Set struct_size to sizeof and leave the rest zero for the defaults. */
typedef struct kiln_batcher_options {
  size_t struct_size;
  uint32_t workers;         /* threads, each with a session; 0: 1. At most 64 */
  uint32_t session_threads; /* of a session's private executor; 0: 1 */
  kiln_executor *executor;  /* shared by all sessions instead, or NULL; not owned */
  uint32_t max_batch;       /* rows; 0: 32. Cut to what the model takes */
  uint32_t queue_limit;     /* requests under way; 0: 1024. At most 65536 */
  uint32_t max_wait_us;     /* that a request may be held back to let others join it; 0: none.
                             * Batches close earlier when waiting cannot pay. */
  uint32_t max_exec_us;     /* longer batches are split, as far as costs are known; 0: no limit */
  uint32_t spin_us;         /* that an idle worker stays awake; 0: as long as may pay, see
                             * KILN_BATCHER_NO_SPIN. At most 100000 */
  uint32_t flags;           /* KILN_BATCHER_* */
  uint32_t rate;            /* rows a second that are admitted; 0: no limit */
  uint32_t burst;           /* rows admitted at once above the rate; 0: max_batch */
  uint64_t slow_elements;   /* a request with more input elements a row is slow: it goes when no
                             * other waits, one slow batch at a time. 0: none is slow */
  uint32_t target_p99_us;   /* of queue and run: while the 99th percentile is above, requests run
                             * alone; 0: none */
  uint32_t cooldown_ms;     /* between two steps of recovery; 0: 1000 */
  kiln_model *twin;         /* with the same inputs and outputs, for example of lower precision:
                             * runs the batches while there is stress. NULL: none */
  char *error;              /* where the reason of a failure is written, or NULL */
  size_t error_size;
  const char *cpus; /* not NULL: as KILN_BATCHER_PIN, but among these CPUs only, "0-3,8" as the
                     * kernel writes it, such as those of a NUMA node. Since 1.2 */
} kiln_batcher_options;

typedef enum kiln_priority {
  KILN_PRIORITY_NORMAL = 0,
  KILN_PRIORITY_HIGH = 1,
  KILN_PRIORITY_LOW = 2, /* goes first after waiting 16 * max_wait, at least 100 ms */
} kiln_priority;

typedef struct kiln_submit_options {
  size_t struct_size;
  uint32_t priority;       /* kiln_priority */
  uint32_t deadline_us;    /* from now: the request is refused, or given up before its run, when it
                            * cannot be met; 0: none */
  uint32_t block_us;       /* that the call may wait for a place in a full queue; 0: none */
  uint32_t reserved;       /* 0 */
  kiln_batch_done_fn done; /* NULL: the caller waits with kiln_batcher_wait */
  void *user;
} kiln_submit_options;

/* Sizes of a histogram: bucket i counts values in [2^i, 2^(i+1)), bucket 0 also
 * zeros, the last one also all above. */
enum { KILN_BATCHER_SIZES = 17, KILN_BATCHER_TIMES = 40 };

typedef struct kiln_batcher_stats {
  size_t struct_size;
  /* Requests. Accepted ones are completed, failed, cancelled or expired once. */
  uint64_t accepted;
  uint64_t completed;
  uint64_t failed;
  uint64_t cancelled;
  uint64_t expired;          /* given up: the deadline could not be met any more */
  uint64_t late;             /* of the completed: after their deadline */
  uint64_t refused_full;     /* not accepted: the queue was full */
  uint64_t refused_rate;     /* the token bucket was empty */
  uint64_t refused_deadline; /* the prediction was after the deadline */
  /* Batches. */
  uint64_t batches;
  uint64_t rows;
  uint64_t splits;       /* closed by max_exec with more rows waiting */
  uint64_t retries;      /* requests run alone after their batch failed */
  uint64_t closed_early; /* before max_wait, for waiting would not have paid */
  uint64_t by_callers;   /* run in kiln_batcher_run */
  uint64_t direct;       /* of one request, without a copy of any input */
  uint64_t slow_batches;
  uint64_t twin_batches;
  uint64_t busy_ns; /* of all sessions */
  /* Now. */
  uint32_t waiting; /* requests */
  uint32_t waiting_peak;
  uint32_t batch_limit; /* rows, after degradation */
  uint32_t level;       /* steps of degradation; 0: none */
  uint64_t degradations;
  uint64_t recoveries;
  /* By powers of two: rows, ns. */
  uint64_t batch_sizes[KILN_BATCHER_SIZES];
  uint64_t queue_times[KILN_BATCHER_TIMES];
  uint64_t run_times[KILN_BATCHER_TIMES];   /* of batches */
  uint64_t total_times[KILN_BATCHER_TIMES]; /* of completed requests, to the end of their run */
  uint64_t queue_ns;                        /* sum of the queue times */
  uint64_t total_ns;                        /* sum of the total times */
  /* Of the late ones: their batch took more than twice what was predicted, and 100 us
   * more: something else had the CPU, or the model was slower than ever. Since 1.2. */
  uint64_t late_overrun;
} kiln_batcher_stats;

enum {
  KILN_CLOSE_DRAIN = 0u,  /* run what was accepted */
  KILN_CLOSE_CANCEL = 1u, /* give it up with KILN_CANCELLED, but for batches under way */
};

/* Every batcher begins with its table, which only grows. Call through the
 * functions below. */
typedef struct kiln_batcher_api {
  uint32_t struct_size;
  uint32_t abi;
  kiln_status_t (*submit)(kiln_batcher *, const DLTensor *const *inputs, uint32_t num_inputs,
                          DLTensor *const *outputs, uint32_t num_outputs,
                          const kiln_submit_options *options, kiln_ticket *ticket);
  kiln_status_t (*run)(kiln_batcher *, const DLTensor *const *inputs, uint32_t num_inputs,
                       DLTensor *const *outputs, uint32_t num_outputs,
                       const kiln_submit_options *options);
  kiln_status_t (*wait)(kiln_batcher *, kiln_ticket ticket, uint64_t timeout_us);
  kiln_status_t (*cancel)(kiln_batcher *, kiln_ticket ticket);
  kiln_status_t (*drain)(kiln_batcher *, uint64_t timeout_us);
  kiln_status_t (*close)(kiln_batcher *, uint32_t how);
  kiln_status_t (*load)(kiln_batcher *, double memory, double throttle);
  void (*stats)(kiln_batcher *, kiln_batcher_stats *stats);
  size_t (*metrics_text)(kiln_batcher *, char *text, size_t size);
} kiln_batcher_api;

struct kiln_batcher {
  const kiln_batcher_api *api;
};

/* Makes sessions and threads. `options` may be NULL. The model must stay open.
 * Since 1.1. KILN_INVALID_ARGUMENT, KILN_UNSUPPORTED (the model is not
 * separable: the text names the operator), KILN_OUT_OF_MEMORY. */
KILN_INLINE kiln_status_t kiln_batcher_create(kiln_model *model,
                                              const kiln_batcher_options *options,
                                              kiln_batcher **batcher) {
  if (!model)
    return KILN_INVALID_ARGUMENT;
  if (model->api->struct_size <= offsetof(kiln_api, batcher_create))
    return KILN_UNSUPPORTED;
  return model->api->batcher_create(model, options, batcher);
}

/* Queues a request. Inputs are dense, row-major CPU memory with equal numbers
 * of rows, at least one; an optional input may be NULL. `outputs` is
 * NULL (views for the callback) or all of them, with dense `data` of exactly
 * the shape that the request's rows give. A request of more than max_batch
 * rows runs in parts, and needs memory for its outputs. Tensors, shapes and the
 * array `outputs` stay the caller's until the request is done; the array
 * `inputs` and the structs it points to are copied. `options` may be NULL.
 * Without a callback, wait for the ticket: that gives its place free.
 * Since 1.1. KILN_INVALID_ARGUMENT, KILN_INVALID_SHAPE, KILN_INVALID_TYPE,
 * KILN_OVERLOADED (full, or above the rate), KILN_DEADLINE, KILN_CLOSED,
 * KILN_UNSUPPORTED. */
KILN_INLINE kiln_status_t kiln_batcher_submit(kiln_batcher *batcher, const DLTensor *const *inputs,
                                              uint32_t num_inputs, DLTensor *const *outputs,
                                              uint32_t num_outputs,
                                              const kiln_submit_options *options,
                                              kiln_ticket *ticket) {
  if (!batcher)
    return KILN_INVALID_ARGUMENT;
  return batcher->api->submit(batcher, inputs, num_inputs, outputs, num_outputs, options, ticket);
}

/* Submits, waits, and returns what became of the request; `done` must be NULL.
 * Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_run(kiln_batcher *batcher, const DLTensor *const *inputs,
                                           uint32_t num_inputs, DLTensor *const *outputs,
                                           uint32_t num_outputs,
                                           const kiln_submit_options *options) {
  if (!batcher)
    return KILN_INVALID_ARGUMENT;
  return batcher->api->run(batcher, inputs, num_inputs, outputs, num_outputs, options);
}

/* Waits until the request without callback is done and returns its status; the
 * ticket is used up then. KILN_BUSY after `timeout_us` (UINT64_MAX: never): wait
 * again. KILN_INVALID_ARGUMENT: no such ticket, it was used up, or has a
 * callback. One thread a ticket. Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_wait(kiln_batcher *batcher, kiln_ticket ticket,
                                            uint64_t timeout_us) {
  return batcher ? batcher->api->wait(batcher, ticket, timeout_us) : KILN_INVALID_ARGUMENT;
}

/* Gives a waiting request up: it is done with KILN_CANCELLED when this returns
 * KILN_OK. KILN_BUSY: it runs, or has run. KILN_CANCELLED: it was cancelled
 * before. KILN_INVALID_ARGUMENT: no such ticket. Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_cancel(kiln_batcher *batcher, kiln_ticket ticket) {
  return batcher ? batcher->api->cancel(batcher, ticket) : KILN_INVALID_ARGUMENT;
}

/* Waits until no request is waiting or running, without holding batches back
 * meanwhile. KILN_BUSY after `timeout_us` (UINT64_MAX: never). Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_drain(kiln_batcher *batcher, uint64_t timeout_us) {
  return batcher ? batcher->api->drain(batcher, timeout_us) : KILN_INVALID_ARGUMENT;
}

/* Refuses further requests (KILN_CLOSED), ends those that are under way, ends
 * the threads and frees the batcher. `how` is KILN_CLOSE_*. Other calls may be
 * under way only in other threads that wait; they return, and the batcher must
 * not be used after this has begun, but for submitting while a request that was
 * accepted has not ended. KILN_BUSY, and nothing happens, from a callback. NULL is
 * allowed. Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_close(kiln_batcher *batcher, uint32_t how) {
  return batcher ? batcher->api->close(batcher, how) : KILN_OK;
}

/* Tells what the host's sensors say. `memory`: share of memory in use; above
 * 0.9 the batch limit is halved, again after each cool-down. `throttle`: share by which
 * heat or power should lower the limit. Both in [0, 1]. Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_set_load(kiln_batcher *batcher, double memory,
                                                double throttle) {
  return batcher ? batcher->api->load(batcher, memory, throttle) : KILN_INVALID_ARGUMENT;
}

/* Fills the first stats->struct_size bytes, which the caller sets. Since 1.1. */
KILN_INLINE kiln_status_t kiln_batcher_get_stats(kiln_batcher *batcher, kiln_batcher_stats *stats) {
  if (!batcher || !stats)
    return KILN_INVALID_ARGUMENT;
  batcher->api->stats(batcher, stats);
  return KILN_OK;
}

/* All figures in the text format of Prometheus, as kiln_model_metrics_text writes
 * those of the model: what fits in `size` with a closing NUL; returns the length of
 * all. `text` may be NULL when `size` is 0. 0 for NULL. Since 1.2. */
KILN_INLINE size_t kiln_batcher_metrics_text(kiln_batcher *batcher, char *text, size_t size) {
  if (!batcher || batcher->api->struct_size <= offsetof(kiln_batcher_api, metrics_text))
    return 0;
  return batcher->api->metrics_text(batcher, text, size);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_BATCHER_H */
