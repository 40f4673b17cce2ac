/*===- kiln-c/Integrity.h - Checks while a model is in use ----------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Opening an artefact compares checksums once. What follows watches the      *|
|* weights afterwards: memory that decays, or that someone writes to. Asked   *|
|* for with kiln_model_options; docs/runtime.md says what each check covers   *|
|* and what it does not.                                                      *|
|*                                                                            *|
|* A check comes after the run and before its outputs are given out: weights  *|
|* that are whole then were whole before. Damaged ones are read again from    *|
|* their file and the run is made again; where that is not possible, the      *|
|* status is KILN_DAMAGED. When damage comes too often, the circuit breaker   *|
|* opens: runs are refused (KILN_CIRCUIT_OPEN) for a time, then one run is    *|
|* let through after a check of everything, and decides.                      *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_INTEGRITY_H
#define KILN_C_INTEGRITY_H

#include "kiln-c/Status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kiln_check_rate {
  KILN_CHECK_NEVER = 0,     /* only when kiln_model_check is called */
  KILN_CHECK_ROLLING = 1,   /* a part after each run, for less than 1 % of its time */
  KILN_CHECK_EVERY_RUN = 2, /* all weights after each run */
  /* All weights once in background_round_ms, by a thread of the model's own, also
   * when nothing runs. In a child after fork, nobody checks. Since 1.2. */
  KILN_CHECK_BACKGROUND = 3,
} kiln_check_rate;

typedef enum kiln_breaker_state {
  KILN_BREAKER_CLOSED = 0,
  KILN_BREAKER_OPEN = 1,
  KILN_BREAKER_HALF_OPEN = 2,
} kiln_breaker_state;

enum {
  /* Compare keyed tags (SipHash-1-3, the key random for each open) instead of
   * checksums: who writes to memory cannot know what would match. */
  KILN_INTEGRITY_KEYED = 1u,
};

/* Writes the `size` bytes at `offset` of the weights into `into`, from where
 * they are stored. kiln_artefact_reload (Loader.h) is one. Any thread. */
typedef kiln_status_t (*kiln_reload_fn)(void *user, uint64_t offset, uint64_t size, void *into);

/* Set struct_size to sizeof, leave the rest zero for the defaults. Read during
 * kiln_model_open only. */
typedef struct kiln_integrity_options {
  size_t struct_size;
  uint32_t rate;  /* kiln_check_rate */
  uint32_t flags; /* KILN_INTEGRITY_* */
  /* NULL: damage cannot be mended. */
  kiln_reload_fn reload;
  void *reload_user;
  /* The breaker opens with this many findings of damage (0: 3) that lie no
   * longer apart than so many milliseconds (0: 60000), stays open for some
   * (0: 1000). At most 1000000 findings and 86400000 ms. */
  uint32_t breaker_threshold;
  uint32_t breaker_window_ms;
  uint32_t breaker_open_ms;
  /* Outputs in which a NaN or an infinity is an error. */
  uint32_t num_finite_outputs;
  const char *const *finite_outputs;
  /* Of KILN_CHECK_BACKGROUND (0: 60000). At most a day. Since 1.2. */
  uint32_t background_round_ms;
  uint32_t reserved;
} kiln_integrity_options;

typedef struct kiln_integrity_stats {
  size_t struct_size;
  uint64_t checked_bytes;
  uint64_t damaged;         /* findings of damage in a weight */
  uint64_t reloaded;        /* weights that were read again */
  uint64_t recomputed_runs; /* runs that were made again after that */
  uint64_t refused_runs;    /* by the open breaker */
  uint64_t not_finite_runs;
  uint64_t breaker_openings;
  uint32_t breaker; /* kiln_breaker_state */
  uint32_t reserved;
} kiln_integrity_stats;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_INTEGRITY_H */
