/*===- kiln-c/Executor.h - Threads that models share ----------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* An executor owns worker threads. One may serve any number of sessions, of  *|
|* any artefact. It comes to exist in one of two ways:                               *|
|*                                                                            *|
|*  - kiln_executor_create (Runtime.h): made by an artefact. Its code is that *|
|*    artefact's, so destroy it before the artefact is closed; kiln_close     *|
|*    refuses (KILN_BUSY) until then.                                         *|
|*  - kiln_shared_executor_create (Loader.h): made by libkiln, independent of *|
|*    every artefact.                                                         *|
|*                                                                            *|
|* A session that finds its executor in another session's run does its work   *|
|* on its own thread instead of waiting. Results never depend on the number   *|
|* of threads, nor on which thread did what.                                  *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_EXECUTOR_H
#define KILN_C_EXECUTOR_H

#include "kiln-c/Status.h"
#include "kiln-c/Version.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_executor kiln_executor;

/* A host's own parallel loop: calls body(context, i) for each i in [0, count),
 * on any threads, in any order, at once or one after the other, and returns
 * when all have returned. `count` is at most 16. */
typedef void (*kiln_parallel_for_fn)(void *user, uint32_t count,
                                     void (*body)(void *context, uint32_t index), void *context);

/* Set struct_size to sizeof and leave the rest zero for the defaults. */
typedef struct kiln_executor_options {
  size_t struct_size;
  /* Threads that work in a run, the calling one included. 0: as many as the
   * process may use (affinity mask and CPU quota). 1: no thread is ever made.
   * More than 16 never help and count as 16; more than 4096 is an error. */
  uint32_t threads;
  /* Microseconds that a worker without work stays awake for the next run; 0:
   * the default of 100. It only does so while runs follow each other that
   * closely. At most 100000. */
  uint32_t spin_us;
  /* Nonzero: worker i runs on the i-th CPU of the process's mask only. */
  uint32_t pin;
  uint32_t reserved; /* 0 */
  /* Not NULL: no threads are made, this loop is used. `threads` is ignored. */
  kiln_parallel_for_fn parallel_for;
  void *parallel_for_user;
  /* Where the reason of a failure is written, or NULL. */
  char *error;
  size_t error_size;
  /* Not NULL: as `pin`, but among these CPUs only, "0-3,8" as the kernel writes it.
   * With the list of a NUMA node (/sys/devices/system/node/node0/cpulist), memory
   * that workers touch first is that node's. Since 1.2. */
  const char *cpus;
} kiln_executor_options;

/*--- The rest is for runtimes, not for users --------------------------------*/

/* A kernel of generated code, as in ModuleABI.h. */
typedef void (*kiln_executor_kernel_fn)(const void *args, int64_t begin, int64_t end,
                                        void *scratch);

/* What an executor remembers of one repeated piece of work. The session owns
 * it, zeroed at first, one for each shape; its contents are the executor's. */
typedef struct kiln_executor_history {
  uint64_t words[16];
} kiln_executor_history;

typedef enum kiln_executor_turn {
  KILN_EXECUTOR_ALONE = 0, /* run everything on this thread */
  KILN_EXECUTOR_TEAM = 1,  /* use launch */
} kiln_executor_turn;

typedef struct kiln_executor_launch {
  kiln_executor_kernel_fn kernel;
  const void *args;
  int64_t extent;
  uint32_t chunks; /* 1..16 */
  uint32_t reserved;
  uint8_t *scratch;        /* slot i is scratch + i * scratch_stride */
  uint64_t scratch_stride; /* bytes */
} kiln_executor_launch;

/* The one way from a session to an executor, which may be code of another
 * artefact of another version: a table that only grows. */
typedef struct kiln_executor_api {
  uint32_t struct_size;
  uint32_t abi; /* KILN_ABI_VERSION of its maker */
  /* Scratch slots that a launch may use; constant for an executor. */
  uint32_t (*slots)(const kiln_executor *executor);
  /* Threads that it would use, the calling one included. */
  uint32_t (*threads)(const kiln_executor *executor);
  /* One more or one fewer session uses it; destroy is refused meanwhile. */
  void (*retain)(kiln_executor *executor);
  void (*release)(kiln_executor *executor);
  /* A run is begin, any number of launches if begin said TEAM, end. All three
   * on the same thread; a thread has one run at a time. */
  kiln_executor_turn (*begin)(kiln_executor *executor, kiln_executor_history *history);
  void (*launch)(kiln_executor *executor, const kiln_executor_launch *launch);
  void (*end)(kiln_executor *executor, kiln_executor_history *history);
  kiln_status_t (*destroy)(kiln_executor *executor);
} kiln_executor_api;

/* Every executor begins with its table. */
struct kiln_executor {
  const kiln_executor_api *api;
};

/* Ends the threads and frees the executor. KILN_BUSY, and nothing happens,
 * while a session uses it. NULL is allowed. Any thread. Since 1.0. */
KILN_INLINE kiln_status_t kiln_executor_destroy(kiln_executor *executor) {
  return executor ? executor->api->destroy(executor) : KILN_OK;
}

/* Threads that work in a run, the calling one included; 0 for NULL. Since 1.0. */
KILN_INLINE uint32_t kiln_executor_threads(const kiln_executor *executor) {
  return executor ? executor->api->threads(executor) : 0;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_EXECUTOR_H */
