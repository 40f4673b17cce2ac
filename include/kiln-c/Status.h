/*===- kiln-c/Status.h - What a call returns ------------------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Every fallible call returns a kiln_status_t. The numbers are stable; a     *|
|* later minor version may add some, so treat an unknown one as a failure.    *|
|* The sentence that names the culprit is with the handle: kiln_session_error *|
|* and kiln_model_error, or the error buffer of an option struct where there  *|
|* is no handle yet.                                                          *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_STATUS_H
#define KILN_C_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls that could be of interest to a foreign-function interface are inline
 * in these headers; libkiln's shared form defines this to export them. */
#ifndef KILN_INLINE
#define KILN_INLINE static inline
#endif

typedef enum kiln_status_t {
  KILN_OK = 0,

  /* The caller broke the interface: a null pointer, a wrong count, an absurd
   * option, a struct_size that no version has. */
  KILN_INVALID_ARGUMENT = 1,

  /* The caller broke the model's contract. */
  KILN_INVALID_SHAPE = 2, /* rank, a dimension, a range, equality of dimensions */
  KILN_INVALID_TYPE = 3,  /* element type */
  KILN_CONSTRAINT = 4,    /* a rule of the model that depends on sizes or values */

  KILN_OUT_OF_MEMORY = 5,
  KILN_BUSY = 6,             /* the session is in another call; or a handle is still in use */
  KILN_UNSUPPORTED = 7,      /* a device, stream or mode that this artefact or machine lacks */
  KILN_BUFFER_TOO_SMALL = 8, /* memory given for an output whose size only the run knows */

  /* The artefact was refused; nothing of it has run a model. */
  KILN_ABI_MISMATCH = 9,      /* another major version of interface or module */
  KILN_CPU_UNSUPPORTED = 10,  /* built for another architecture or newer instructions */
  KILN_INVALID_ARTEFACT = 11, /* not an artefact of Kiln at all */
  KILN_CORRUPT = 12,          /* truncated or damaged */

  KILN_IO = 13,       /* the system said no: the text has the path and the reason */
  KILN_INTERNAL = 14, /* a fault in Kiln: please report it */
  /* A device failed while it was at work, and cannot be used any more. Since 1.2. */
  KILN_DEVICE_FAILED = 15,

  /* A signature was asked for; nothing of the artefact has run. Since 1.2. */
  KILN_UNSIGNED = 16,  /* it has none */
  KILN_UNTRUSTED = 17, /* it was signed with a key that is not among the trusted ones */
  KILN_TAMPERED = 18,  /* it is not what was signed */

  /* A check at run time refused; no output is to be trusted. */
  KILN_DAMAGED = 20,      /* a weight or guard bytes changed, and could not be mended */
  KILN_CIRCUIT_OPEN = 21, /* too much was damaged lately: runs are refused for a while */
  KILN_NOT_FINITE = 22,   /* an output that is guarded holds NaN or an infinity */
  /* What became of a request to a batcher. Since 1.1. */
  KILN_OVERLOADED = 32, /* the queue is full, or the rate exceeded: try later */
  KILN_CANCELLED = 33,
  KILN_DEADLINE = 34, /* it could not be done in time, so it was not run */
  KILN_CLOSED = 35,   /* the batcher takes no more requests */
} kiln_status_t;

/* A constant name such as "invalid shape"; never NULL. Any thread. Since 1.0. */
KILN_INLINE const char *kiln_status_name(kiln_status_t status) {
  switch (status) {
  case KILN_OK:
    return "ok";
  case KILN_INVALID_ARGUMENT:
    return "invalid argument";
  case KILN_INVALID_SHAPE:
    return "invalid shape";
  case KILN_INVALID_TYPE:
    return "invalid type";
  case KILN_CONSTRAINT:
    return "constraint not met";
  case KILN_OUT_OF_MEMORY:
    return "out of memory";
  case KILN_BUSY:
    return "busy";
  case KILN_UNSUPPORTED:
    return "unsupported";
  case KILN_BUFFER_TOO_SMALL:
    return "buffer too small";
  case KILN_ABI_MISMATCH:
    return "ABI mismatch";
  case KILN_CPU_UNSUPPORTED:
    return "CPU not supported";
  case KILN_INVALID_ARTEFACT:
    return "not an artefact";
  case KILN_CORRUPT:
    return "corrupt artefact";
  case KILN_IO:
    return "system error";
  case KILN_INTERNAL:
    return "internal error";
  case KILN_DEVICE_FAILED:
    return "device failed";
  case KILN_UNSIGNED:
    return "not signed";
  case KILN_UNTRUSTED:
    return "signed by another";
  case KILN_TAMPERED:
    return "not what was signed";
  case KILN_DAMAGED:
    return "damaged memory";
  case KILN_CIRCUIT_OPEN:
    return "circuit open";
  case KILN_NOT_FINITE:
    return "not finite";
  case KILN_OVERLOADED:
    return "overloaded";
  case KILN_CANCELLED:
    return "cancelled";
  case KILN_DEADLINE:
    return "deadline";
  case KILN_CLOSED:
    return "closed";
  }
  return "unknown status";
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_STATUS_H */
