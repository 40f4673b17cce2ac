/*===- kiln-c/Runtime.h - Running a compiled model ------------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* An artefact exports one function that gives a table, kiln_api; the kiln_*  *|
|* functions below are inline and call through it. So no two artefacts in one *|
|* process can clash, and there is no library to link. Get the table from the *|
|* model's own header, or from kiln_open (Loader.h).                          *|
|*                                                                            *|
|*   kiln_model *model;                                                       *|
|*   kiln_session *session;                                                   *|
|*   if (kiln_model_open(api, NULL, &model) == KILN_OK &&                     *|
|*       kiln_session_create(model, NULL, &session) == KILN_OK)               *|
|*     status = kiln_run(session, inputs, 1, outputs, 1, NULL);               *|
|*                                                                            *|
|* Threads: a model is immutable and may be used from any number of threads.  *|
|* A session serves one call at a time (a second one gets KILN_BUSY); make    *|
|* one for each thread that runs, they share weights. An executor may be      *|
|* shared by all. After fork the child may use all three, except a session    *|
|* that was inside a run, and but for devices: KILN_UNSUPPORTED, or the CPU.  *|
|*                                                                            *|
|* Ownership: close sessions before their model, all of them before the       *|
|* artefact. Caller memory is read or written during a call only.             *|
|*                                                                            *|
|* A shape that a session has seen before runs without heap allocation.       *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_RUNTIME_H
#define KILN_C_RUNTIME_H

#include "kiln-c/Event.h"
#include "kiln-c/Executor.h"
#include "kiln-c/Integrity.h"
#include "kiln-c/Memory.h"
#include "kiln-c/Metrics.h"
#include "kiln-c/Status.h"
#include "kiln-c/Version.h"
#include "kiln-c/dlpack.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_api kiln_api;
typedef struct kiln_model kiln_model;
typedef struct kiln_session kiln_session;
struct kiln_batcher;
struct kiln_batcher_options;

/*--- What a model is --------------------------------------------------------*/

/* One dimension of an input or output, in elements. This struct never grows. */
typedef struct kiln_dim_spec {
  int64_t size;       /* when static, else -1 */
  int64_t lo;         /* least and greatest size that is accepted; both equal */
  int64_t hi;         /* size when static; of an output's expression 0, INT64_MAX */
  const char *text;   /* "3", "batch", "2*seq" */
  const char *symbol; /* the name when the dimension is exactly that symbol, else NULL */
  uint64_t reserved[3];
} kiln_dim_spec;

enum {
  /* Input: may be left out, an initialiser of the model stands in. */
  KILN_TENSOR_OPTIONAL = 1u,
  /* Output: its dims are known only after the run. */
  KILN_TENSOR_LATE = 2u,
};

typedef struct kiln_tensor_spec {
  size_t struct_size;
  const char *name; /* as in the ONNX file, UTF-8 */
  DLDataType dtype; /* lanes is 1 */
  uint32_t rank;
  const kiln_dim_spec *dims; /* rank of them */
  uint32_t flags;            /* KILN_TENSOR_* */
  /* Axis along which each row of the batch has a piece; -1 when there is none, or
   * kiln_model_info::separable is 0. Since 1.1. */
  int32_t batch_axis;
} kiln_tensor_spec;

typedef struct kiln_model_info {
  size_t struct_size;
  const char *name;
  const char *producer; /* "kiln 0.1.0" */
  const char *target;   /* "cpu x86-64-v3" */
  const char *features; /* instruction sets that it needs, comma separated */
  const char *devices;  /* devices that it has plans for, comma separated: "cpu" */
  const char *batch;    /* symbol of the batch dimension, or NULL */
  uint8_t digest[32];   /* of model, options and compiler */
  uint32_t abi;         /* KILN_ABI_VERSION of the runtime inside */
  uint32_t module_abi;  /* between that runtime and its generated code */
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t num_launches; /* steps of a run */
  uint32_t num_weights;
  uint64_t weights_size; /* bytes, shared by all sessions and processes */
  /* Since 1.1. Nonzero: it is proved that row r of every output depends on row r
   * of the inputs alone, so that requests may share a run (Batcher.h). */
  uint32_t separable;
  uint32_t reserved;
  const char *batch_obstacle; /* why `batch` is not separable, or NULL */
  /* Since 1.2. What the artefact was made of and how its rules decided: a JSON text
   * (docs/manifest.md) of manifest_size bytes with a zero byte behind it. "": none. */
  const char *manifest;
  uint64_t manifest_size;
} kiln_model_info;

/*--- Options. Set struct_size to sizeof, leave the rest zero for defaults. ---*/

enum {
  /* Compare the checksum of every weight before the model is given out. */
  KILN_MODEL_VERIFY_WEIGHTS = 1u,
};

typedef struct kiln_model_options {
  size_t struct_size;
  uint32_t flags; /* KILN_MODEL_* */
  uint32_t reserved;
  char *error; /* where the reason of a failure is written, or NULL */
  size_t error_size;
  /* Hears of damage, of the circuit breaker and of the model's own pool. */
  kiln_event_fn on_event;
  void *on_event_user;
  /* Checks while the model is in use; NULL: none. All weights are compared once
   * at once. */
  const kiln_integrity_options *integrity;
} kiln_model_options;

enum {
  /* Read the clock around each run, for kiln_metrics (60 ns a run). */
  KILN_SESSION_TIME_RUNS = 1u,
  /* And around each launch, for kiln_session_profile (60 ns a launch; on a device
   * two events a launch, and no run is replayed as a graph). */
  KILN_SESSION_PROFILE = 2u,
  /* When the device fails, or is not there, the CPU makes this run and all later
   * ones; kiln_session_get_device says so. It is what happens when no device is
   * named; of the two, the first is for those who name one, the second for those who
   * want the status instead. Since 1.2. */
  KILN_SESSION_TWIN = 4u,
  KILN_SESSION_NO_TWIN = 8u,
};

typedef struct kiln_session_options {
  size_t struct_size;
  /* "cpu", "cuda:0", "sim:sm_80" (the simulator, for tests; "sim:sm_80:1" its second
   * device), or NULL to let the artefact choose: the first GPU when it has code for
   * it, else the CPU. A device that is named is used or refused (KILN_UNSUPPORTED),
   * never replaced, unless KILN_SESSION_TWIN says so. */
  const char *device;
  /* The device's stream to run in (a CUstream), which must outlive the session.
   * NULL: one of the session's own; of a CPU, which has none. */
  void *stream;
  /* Threads of a private executor, as in kiln_executor_options. Must be 0 when
   * `executor` is given. */
  uint32_t threads;
  uint32_t flags; /* KILN_SESSION_* */
  /* Not owned; must outlive the session. NULL: a private one. */
  kiln_executor *executor;
  /* Where its tensors live. Not owned; must outlive the session and managed
   * outputs. NULL: one that all sessions of the model share. */
  kiln_pool *pool;
  /* With KILN_SESSION_PROFILE: how many of the latest launches
   * kiln_session_trace can tell. At most 16777216. */
  uint32_t trace_events;
  uint32_t reserved; /* 0 */
} kiln_session_options;

enum {
  /* On a device: return when the run is queued in its stream. Outputs are valid to
   * what is queued there behind it, and to the host after kiln_session_wait or when
   * the stream has come so far; inputs on the device, and pinned ones, must stay
   * what they are until then. Errors of the device are told by that call or by the
   * next run. A run waits all the same where it must know something of the device:
   * with LATE outputs, sizes that the run finds, integrity options, a profile. */
  KILN_RUN_ASYNC = 1u,
  /* Outputs that the caller gives no memory for lie on the device. Since 1.2. */
  KILN_RUN_DEVICE_OUTPUTS = 2u,
};

typedef struct kiln_run_options {
  size_t struct_size;
  uint32_t flags; /* KILN_RUN_* */
  uint32_t reserved;
  /* A CUstream of the session's device to run in, instead of the session's; behind
   * the session's earlier runs, whatever stream they were queued in. */
  void *stream;
} kiln_run_options;

/*--- The table --------------------------------------------------------------*/

/* Call through the functions below, not through these pointers. */
struct kiln_api {
  uint32_t struct_size;
  uint32_t abi; /* KILN_ABI_VERSION of the artefact */
  kiln_status_t (*model_open)(const kiln_model_options *options, kiln_model **model);
  kiln_status_t (*model_close)(kiln_model *model);
  void (*model_info)(const kiln_model *model, kiln_model_info *info);
  const kiln_tensor_spec *(*model_input)(const kiln_model *model, uint32_t index);
  const kiln_tensor_spec *(*model_output)(const kiln_model *model, uint32_t index);
  size_t (*model_error)(kiln_model *model, char *text, size_t size);
  kiln_status_t (*executor_create)(const kiln_executor_options *options, kiln_executor **executor);
  kiln_status_t (*session_create)(kiln_model *model, const kiln_session_options *options,
                                  kiln_session **session);
  kiln_status_t (*session_destroy)(kiln_session *session);
  const char *(*session_error)(const kiln_session *session);
  kiln_status_t (*output_shapes)(kiln_session *session, const DLTensor *const *inputs,
                                 uint32_t num_inputs, DLTensor *const *outputs,
                                 uint32_t num_outputs);
  kiln_status_t (*run)(kiln_session *session, const DLTensor *const *inputs, uint32_t num_inputs,
                       DLTensor *const *outputs, uint32_t num_outputs,
                       const kiln_run_options *options);
  kiln_status_t (*run_managed)(kiln_session *session, const DLTensor *const *inputs,
                               uint32_t num_inputs, DLManagedTensorVersioned **outputs,
                               uint32_t num_outputs, const kiln_run_options *options);
  /* Models, sessions, executors and managed tensors of this artefact that are
   * alive: it may be unloaded when there is none. */
  uint64_t (*live_objects)(void);
  /* Since 1.1: Batcher.h. */
  kiln_status_t (*batcher_create)(kiln_model *model, const struct kiln_batcher_options *options,
                                  struct kiln_batcher **batcher);
  kiln_status_t (*pool_create)(const kiln_pool_options *options, kiln_pool **pool);
  kiln_pool *(*session_pool)(kiln_session *session);
  kiln_status_t (*model_check)(kiln_model *model, uint64_t bytes);
  kiln_status_t (*model_integrity)(const kiln_model *model, kiln_integrity_stats *stats);
  kiln_status_t (*model_metrics)(kiln_model *model, kiln_metrics *metrics);
  size_t (*model_metrics_text)(kiln_model *model, char *text, size_t size);
  kiln_status_t (*session_profile)(kiln_session *session, kiln_profile_row *rows, uint32_t capacity,
                                   uint32_t *count);
  kiln_status_t (*session_trace)(kiln_session *session, kiln_trace_event *events, uint32_t capacity,
                                 uint32_t *count);
  kiln_status_t (*session_reset_profile)(kiln_session *session);
  kiln_status_t (*session_memory_plan)(kiln_session *session, kiln_memory_plan *plan,
                                       kiln_plan_buffer *buffers, uint32_t capacity);
  void (*session_device)(const kiln_session *session, const char **name, const char **why);
  kiln_status_t (*session_wait)(kiln_session *session);
  kiln_pool *(*session_device_pool)(kiln_session *session);
};

/* What an artefact exports. NULL when it speaks another major version. */
typedef const kiln_api *(*kiln_model_query_fn)(uint32_t abi);

/* Every handle begins with the table of the artefact that made it. */
struct kiln_model {
  const kiln_api *api;
};
struct kiln_session {
  const kiln_api *api;
};

/* Whether the artefact is new enough to have a function of the table: without it,
 * the call says KILN_UNSUPPORTED. */
#define KILN_API_HAS(api, function)                                                                \
  ((api)->struct_size >= offsetof(kiln_api, function) + sizeof((api)->function))

/*--- Models -----------------------------------------------------------------*/

/* Checks that this machine can run the artefact, and gives a handle to it.
 * `options` may be NULL. Any thread. Since 1.0.
 * KILN_ABI_MISMATCH, KILN_CPU_UNSUPPORTED, KILN_CORRUPT, KILN_OUT_OF_MEMORY,
 * KILN_INVALID_ARGUMENT. */
KILN_INLINE kiln_status_t kiln_model_open(const kiln_api *api, const kiln_model_options *options,
                                          kiln_model **model) {
  return api ? api->model_open(options, model) : KILN_INVALID_ARGUMENT;
}

/* KILN_BUSY, and nothing happens, while the model has sessions. NULL is
 * allowed. Since 1.0. */
KILN_INLINE kiln_status_t kiln_model_close(kiln_model *model) {
  return model ? model->api->model_close(model) : KILN_OK;
}

/* Fills the first info->struct_size bytes of `info`, which the caller sets;
 * texts live as long as the artefact. Any thread. Since 1.0. */
KILN_INLINE kiln_status_t kiln_model_get_info(const kiln_model *model, kiln_model_info *info) {
  if (!model || !info)
    return KILN_INVALID_ARGUMENT;
  model->api->model_info(model, info);
  return KILN_OK;
}

/* The manifest's text, as kiln_model_info has it; "" without one. Lives as long as
 * the artefact. Any thread. Since 1.2. */
KILN_INLINE const char *kiln_model_manifest(const kiln_model *model) {
  kiln_model_info info;
  info.struct_size = sizeof info;
  info.manifest = "";
  (void)kiln_model_get_info(model, &info);
  return info.manifest;
}

/* Input or output `index`, in the order of the ONNX graph; NULL when there is
 * none. Lives as long as the model. Any thread. Since 1.0. */
KILN_INLINE const kiln_tensor_spec *kiln_model_input(const kiln_model *model, uint32_t index) {
  return model ? model->api->model_input(model, index) : NULL;
}
KILN_INLINE const kiln_tensor_spec *kiln_model_output(const kiln_model *model, uint32_t index) {
  return model ? model->api->model_output(model, index) : NULL;
}

/* Copies the reason of the latest kiln_session_create that failed on this
 * model, cut to `size` bytes with the closing NUL; returns its full length.
 * Any thread. Since 1.0. */
KILN_INLINE size_t kiln_model_error(kiln_model *model, char *text, size_t size) {
  return model ? model->api->model_error(model, text, size) : 0;
}

/* Checks the next weights, at least `bytes` of them (0: all), mends what is
 * damaged, and tells events: for a host with a thread to spare. The model must
 * have been opened with integrity options. The reason of a failure is with
 * kiln_model_error. Any thread, also during runs. Since 1.1.
 * KILN_INVALID_ARGUMENT, KILN_DAMAGED, KILN_OUT_OF_MEMORY. */
KILN_INLINE kiln_status_t kiln_model_check(kiln_model *model, uint64_t bytes) {
  if (!model)
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(model->api, model_check) ? model->api->model_check(model, bytes)
                                               : KILN_UNSUPPORTED;
}

/* Fills the first stats->struct_size bytes, which the caller sets; zeros where
 * there are no integrity options. Any thread. Since 1.1. */
KILN_INLINE kiln_status_t kiln_model_get_integrity(const kiln_model *model,
                                                   kiln_integrity_stats *stats) {
  if (!model || !stats || stats->struct_size < sizeof(size_t))
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(model->api, model_integrity) ? model->api->model_integrity(model, stats)
                                                   : KILN_UNSUPPORTED;
}

/* Fills the first metrics->struct_size bytes, which the caller sets. Any thread,
 * also during runs. Since 1.1. */
KILN_INLINE kiln_status_t kiln_model_get_metrics(kiln_model *model, kiln_metrics *metrics) {
  if (!model || !metrics || metrics->struct_size < sizeof(size_t))
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(model->api, model_metrics) ? model->api->model_metrics(model, metrics)
                                                 : KILN_UNSUPPORTED;
}

/* All figures of the model (runs, its own pool, integrity) in the text format of
 * Prometheus, cut to `size` bytes with the closing NUL; returns the length of
 * all. `text` may be NULL when `size` is 0. Any thread. Since 1.1. */
KILN_INLINE size_t kiln_model_metrics_text(kiln_model *model, char *text, size_t size) {
  return model && KILN_API_HAS(model->api, model_metrics_text)
             ? model->api->model_metrics_text(model, text, size)
             : 0;
}

/*--- Executors (kiln_executor_destroy is in Executor.h) ---------------------*/

/* `options` may be NULL. The executor is the artefact's: destroy it before the
 * artefact is closed. Threads start with the first run that has work for them.
 * Any thread. Since 1.0. KILN_INVALID_ARGUMENT, KILN_OUT_OF_MEMORY. */
KILN_INLINE kiln_status_t kiln_executor_create(const kiln_api *api,
                                               const kiln_executor_options *options,
                                               kiln_executor **executor) {
  return api ? api->executor_create(options, executor) : KILN_INVALID_ARGUMENT;
}

/*--- Pools (the rest is in Memory.h) ----------------------------------------*/

/* `options` may be NULL. The pool is the artefact's: destroy it before the
 * artefact is closed. Any thread. Since 1.1. KILN_INVALID_ARGUMENT,
 * KILN_UNSUPPORTED, KILN_OUT_OF_MEMORY. */
KILN_INLINE kiln_status_t kiln_pool_create(const kiln_api *api, const kiln_pool_options *options,
                                           kiln_pool **pool) {
  if (!api)
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(api, pool_create) ? api->pool_create(options, pool) : KILN_UNSUPPORTED;
}

/*--- Sessions ---------------------------------------------------------------*/

/* `options` may be NULL. The reason of a failure is with kiln_model_error. Any
 * thread. Since 1.0. KILN_INVALID_ARGUMENT, KILN_UNSUPPORTED,
 * KILN_OUT_OF_MEMORY. */
KILN_INLINE kiln_status_t kiln_session_create(kiln_model *model,
                                              const kiln_session_options *options,
                                              kiln_session **session) {
  return model ? model->api->session_create(model, options, session) : KILN_INVALID_ARGUMENT;
}

/* The pool that the session uses: for statistics and trims; not to be destroyed
 * unless it is the caller's own. Since 1.1. */
KILN_INLINE kiln_pool *kiln_session_pool(kiln_session *session) {
  return session && KILN_API_HAS(session->api, session_pool) ? session->api->session_pool(session)
                                                             : NULL;
}

/* The same of the device's memory (arena, outputs and copies of inputs there), one
 * pool for all sessions of the model on that device; its blocks are the device's
 * addresses. NULL on a CPU. Since 1.2. */
KILN_INLINE kiln_pool *kiln_session_device_pool(kiln_session *session) {
  return session && KILN_API_HAS(session->api, session_device_pool)
             ? session->api->session_device_pool(session)
             : NULL;
}

/* Ends the threads of a private executor, frees outputs that the session owns
 * (not managed ones). KILN_BUSY during a run. NULL is allowed. Since 1.0. */
KILN_INLINE kiln_status_t kiln_session_destroy(kiln_session *session) {
  return session ? session->api->session_destroy(session) : KILN_OK;
}

/* Why the latest call on this session failed; "" when it did not. Valid until
 * the next call on it. A call that returns KILN_BUSY leaves it alone. Since 1.0. */
KILN_INLINE const char *kiln_session_error(const kiln_session *session) {
  return session ? session->api->session_error(session) : "";
}

/* The shapes that outputs will have for inputs of these shapes. Of each input,
 * only dtype, ndim, shape and strides are read; of each output, `shape` must
 * have room for its rank (NULL when it is 0); ndim, dtype, device and the
 * dims are written, -1 for each dim of an output with KILN_TENSOR_LATE. `data`
 * of inputs may be NULL, unless the shapes depend on values of an input: then
 * KILN_CONSTRAINT says so. Entries of `outputs` may be NULL.
 * Since 1.0. */
KILN_INLINE kiln_status_t kiln_output_shapes(kiln_session *session, const DLTensor *const *inputs,
                                             uint32_t num_inputs, DLTensor *const *outputs,
                                             uint32_t num_outputs) {
  if (!session)
    return KILN_INVALID_ARGUMENT;
  return session->api->output_shapes(session, inputs, num_inputs, outputs, num_outputs);
}

/* Runs the model once. Tensors lie in the host's memory (kDLCPU, kDLCUDAHost) or,
 * where the session runs on a device, also in that device's (kDLCUDA and its
 * number); each may lie elsewhere than the next.
 *
 * Inputs: any alignment, any strides (in elements; NULL means dense,
 * row-major; those that are not dense are copied). An optional input may be
 * NULL. Inputs may be outputs of this or an earlier call: overlapping memory
 * is copied first. On the device: dense, and aligned to the element; they are used
 * where they are when their address is a multiple of 16, else copied there.
 *
 * Outputs: with `data`, dense caller memory of exactly the output's shape; of
 * a LATE output, the shape says how much room there is, and its dims are
 * overwritten by those that the run found (KILN_BUFFER_TOO_SMALL when they do
 * not fit). With `data` NULL, the session's memory: data, byte_offset, ndim,
 * shape, strides, dtype and device are written, and stay valid until the
 * session's next call. To get session memory again, set `data` to NULL again.
 *
 * When it fails, the contents of outputs are undefined. `options` may be NULL.
 * Since 1.0. KILN_INVALID_ARGUMENT, KILN_INVALID_SHAPE, KILN_INVALID_TYPE,
 * KILN_CONSTRAINT, KILN_UNSUPPORTED, KILN_BUSY, KILN_BUFFER_TOO_SMALL,
 * KILN_OUT_OF_MEMORY; with integrity options KILN_DAMAGED, KILN_CIRCUIT_OPEN,
 * KILN_NOT_FINITE; on a device KILN_DEVICE_FAILED. */
KILN_INLINE kiln_status_t kiln_run(kiln_session *session, const DLTensor *const *inputs,
                                   uint32_t num_inputs, DLTensor *const *outputs,
                                   uint32_t num_outputs, const kiln_run_options *options) {
  if (!session)
    return KILN_INVALID_ARGUMENT;
  return session->api->run(session, inputs, num_inputs, outputs, num_outputs, options);
}

/* As kiln_run, but all outputs are new tensors of their own, which the caller
 * gives back by calling their deleter, from any thread, also after the session
 * is gone; the artefact must stay open until then. Written only on success.
 * Since 1.0. */
KILN_INLINE kiln_status_t kiln_run_managed(kiln_session *session, const DLTensor *const *inputs,
                                           uint32_t num_inputs, DLManagedTensorVersioned **outputs,
                                           uint32_t num_outputs, const kiln_run_options *options) {
  if (!session)
    return KILN_INVALID_ARGUMENT;
  return session->api->run_managed(session, inputs, num_inputs, outputs, num_outputs, options);
}

/* Waits for runs with KILN_RUN_ASYNC. Since 1.2. KILN_BUSY, KILN_UNSUPPORTED: of an
 * older artefact; what a run says when the device fails. */
KILN_INLINE kiln_status_t kiln_session_wait(kiln_session *session) {
  if (!session)
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(session->api, session_wait) ? session->api->session_wait(session)
                                                  : KILN_UNSUPPORTED;
}

/* The device that the session runs on ("cpu", "cuda:0") and why it is that one
 * ("sm_80 cubin for NVIDIA A100 (sm_80)"; when no device was named, what is
 * missing for another; after a failure, what failed). The texts live as long as the
 * session; ask again after a run that may have changed them. Since 1.2.
 * KILN_UNSUPPORTED, KILN_INVALID_ARGUMENT. */
KILN_INLINE kiln_status_t kiln_session_get_device(const kiln_session *session, const char **name,
                                                  const char **why) {
  if (!session || !name || !why)
    return KILN_INVALID_ARGUMENT;
  if (!KILN_API_HAS(session->api, session_device))
    return KILN_UNSUPPORTED;
  session->api->session_device(session, name, why);
  return KILN_OK;
}

/*--- Profiles and plans. Calls on a session, one at a time as runs are. -----*/

/* Writes up to `capacity` rows, one for each launch of the program in its order,
 * and the number of all into `count`. `rows` may be NULL when `capacity` is 0.
 * Since 1.1. KILN_UNSUPPORTED: the session was made without KILN_SESSION_PROFILE.
 * KILN_BUSY, KILN_INVALID_ARGUMENT. */
KILN_INLINE kiln_status_t kiln_session_profile(kiln_session *session, kiln_profile_row *rows,
                                               uint32_t capacity, uint32_t *count) {
  if (!session || !count || (!rows && capacity))
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(session->api, session_profile)
             ? session->api->session_profile(session, rows, capacity, count)
             : KILN_UNSUPPORTED;
}

/* The same for the latest launches, oldest first. Since 1.1. */
KILN_INLINE kiln_status_t kiln_session_trace(kiln_session *session, kiln_trace_event *events,
                                             uint32_t capacity, uint32_t *count) {
  if (!session || !count || (!events && capacity))
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(session->api, session_trace)
             ? session->api->session_trace(session, events, capacity, count)
             : KILN_UNSUPPORTED;
}

/* Forgets all rows and events. Since 1.1. KILN_UNSUPPORTED, KILN_BUSY. */
KILN_INLINE kiln_status_t kiln_session_reset_profile(kiln_session *session) {
  if (!session)
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(session->api, session_reset_profile)
             ? session->api->session_reset_profile(session)
             : KILN_UNSUPPORTED;
}

/* How the arena is laid out for the shapes of the latest call. Fills the first
 * plan->struct_size bytes, which the caller sets, and up to `capacity` buffers;
 * `buffers` may be NULL when that is 0. Since 1.1. KILN_UNSUPPORTED: nothing was
 * run yet. KILN_BUSY, KILN_INVALID_ARGUMENT. */
KILN_INLINE kiln_status_t kiln_session_memory_plan(kiln_session *session, kiln_memory_plan *plan,
                                                   kiln_plan_buffer *buffers, uint32_t capacity) {
  if (!session || !plan || plan->struct_size < sizeof(size_t) || (!buffers && capacity))
    return KILN_INVALID_ARGUMENT;
  return KILN_API_HAS(session->api, session_memory_plan)
             ? session->api->session_memory_plan(session, plan, buffers, capacity)
             : KILN_UNSUPPORTED;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_RUNTIME_H */
