/*===- kiln-c/Event.h - What a host may want to hear of -------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* The runtime never writes to a stream. What is worth a line in a log goes   *|
|* to a callback that the host gave with a pool or a model; each event is     *|
|* also counted in the statistics and, where a call fails, told by its        *|
|* status.                                                                    *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_EVENT_H
#define KILN_C_EVENT_H

#include "kiln-c/Status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are stable; a later minor version may add some. */
typedef enum kiln_event_kind {
  KILN_EVENT_MEMORY_SOFT_LIMIT = 1, /* the pool grew past its soft limit; value: bytes */
  KILN_EVENT_MEMORY_DAMAGED = 2,    /* guard bytes or poison changed; value: the block's address */
  KILN_EVENT_MEMORY_EXHAUSTED = 3,  /* no memory after trimming; value: bytes asked for */
  KILN_EVENT_WEIGHT_DAMAGED = 4,    /* name: the weight; value: offset of the damaged part */
  KILN_EVENT_WEIGHT_RELOADED = 5,   /* name: the weight */
  KILN_EVENT_BREAKER = 6,           /* the circuit breaker changed; value: kiln_breaker_state */
  KILN_EVENT_NOT_FINITE = 7,        /* name: the output; value: index of the first such element */
  KILN_EVENT_DEVICE_FAILED = 8,     /* name: the device; status KILN_OK: the CPU has taken over */
} kiln_event_kind;

/* Lives during the callback only. */
typedef struct kiln_event {
  size_t struct_size;
  uint32_t kind;    /* kiln_event_kind */
  int32_t status;   /* the kiln_status_t that the call gives for it; KILN_OK when it goes on */
  const char *name; /* of what it is about, or "" */
  const char *text; /* a sentence for the log */
  uint64_t value;   /* as the kind says */
} kiln_event;

/* Called on the thread where it happened, inside a call of Kiln: it must not
 * call back into the same session, model or pool. */
typedef void (*kiln_event_fn)(void *user, const kiln_event *event);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_EVENT_H */
