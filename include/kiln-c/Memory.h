/*===- kiln-c/Memory.h - The pool that tensors live in --------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* A pool gives sessions the memory of their tensors: the planned arena and   *|
|* outputs (static: one block each, as long as the session), and what only a  *|
|* run knows the size of (blocks of size classes). Each model makes one of    *|
|* its own unless its sessions are given one, which any number of sessions of *|
|* any artefacts may share. It comes to exist in one of two ways, as an       *|
|* executor does:                                                             *|
|*                                                                            *|
|*  - kiln_pool_create (Runtime.h): its code is that artefact's, destroy it   *|
|*    before the artefact is closed.                                          *|
|*  - kiln_shared_pool_create (Loader.h): libkiln's, independent of artefacts. *|
|*                                                                            *|
|* All functions may be called from any thread, and in a child after fork.    *|
|* Small bookkeeping (plans, handles) stays with malloc.                      *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_C_MEMORY_H
#define KILN_C_MEMORY_H

#include "kiln-c/Event.h"
#include "kiln-c/Status.h"
#include "kiln-c/Version.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_pool kiln_pool;

/* Every block of a pool has this alignment in bytes, which is also the grain
 * that sizes are rounded to before their class is chosen: a size that is a
 * class is never pushed into the next one by padding. */
#define KILN_POOL_ALIGNMENT 64

/* A caller's own memory. Both are called from any thread, one at a time for a
 * pool. `alignment` is a power of two from 64 to 2 MiB. */
typedef struct kiln_memory_source {
  void *(*allocate)(void *user, uint64_t bytes, uint64_t alignment); /* NULL: there is none */
  void (*release)(void *user, void *memory, uint64_t bytes);
  void *user;
} kiln_memory_source;

enum {
  /* All memory from mmap, none from malloc. Not together with a source. */
  KILN_POOL_MMAP = 1u,
  /* Guard bytes around every block, poison in what is given out and given back;
   * changes are found when a block is given back or out. For tests: slow. */
  KILN_POOL_DEBUG = 2u,
  /* Touch all memory when it is got, not when it is used first. */
  KILN_POOL_PREFAULT = 4u,
  /* mlock all memory. KILN_UNSUPPORTED when the process may not. */
  KILN_POOL_LOCK = 8u,
};

/* Set struct_size to sizeof, leave the rest zero for the defaults. */
typedef struct kiln_pool_options {
  size_t struct_size;
  uint32_t flags; /* KILN_POOL_* */
  uint32_t reserved;
  kiln_memory_source source; /* all zero: mmap, and malloc below 256 KiB */
  /* Bytes got from the source. Past the soft limit, memory that nobody uses is
   * given back before more is got, and the callback is told; the hard limit is
   * never passed. 0: none. The soft one must not be above the hard one. */
  uint64_t soft_limit;
  uint64_t hard_limit;
  /* Bytes without use that the pool keeps for later; what is more goes back at
   * once. 0: all, until a trim or the soft limit, for load comes back. */
  uint64_t retain;
  kiln_event_fn on_event; /* or NULL */
  void *on_event_user;
  char *error; /* where the reason of a failure is written, or NULL */
  size_t error_size;
} kiln_pool_options;

enum {
  /* Entry i of a histogram counts values in [2^i, 2^(i+1)). */
  KILN_POOL_SIZE_BUCKETS = 40,
  KILN_POOL_WAIT_BUCKETS = 32,
};

/* Bytes unless it says otherwise. Every figure is exact when no call is under
 * way. */
typedef struct kiln_pool_stats {
  size_t struct_size;
  /* Memory from the source: all of it, its peak, and what holds nothing. */
  uint64_t reserved;
  uint64_t peak_reserved;
  uint64_t free_bytes;
  uint64_t largest_free; /* the largest block that could be had of it */
  uint64_t soft_limit;   /* 0: none */
  uint64_t hard_limit;
  /* Static: arenas, outputs and copies of inputs. */
  uint64_t static_used;
  uint64_t static_peak;
  uint64_t static_blocks;      /* count, now */
  uint64_t static_allocations; /* count, ever */
  /* Blocks of size classes: in use, and what caches and the ring hold. The peak
   * is exact with one session; with several, the sum of each one's peak. */
  uint64_t used;
  uint64_t peak_used;
  uint64_t cached;
  /* Allocations by where they were served: a session's cache, the ring of
   * blocks just freed, a slab; above 64 MiB the source itself. Counts. */
  uint64_t cache_hits;
  uint64_t ring_hits;
  uint64_t slab_hits;
  uint64_t huge_allocations;
  uint64_t releases; /* count */
  /* Over all allocations so far: what was asked for and what was given. The
   * difference is internal fragmentation. */
  uint64_t requested_total;
  uint64_t given_total;
  uint64_t failures;                      /* allocations that found no memory, count */
  uint64_t trims;                         /* count */
  uint64_t trimmed;                       /* bytes given back to the source, ever */
  uint64_t source_calls;                  /* allocations from the source, count */
  uint64_t damaged;                       /* blocks found changed in debug mode, count */
  uint64_t invalid_releases;              /* kiln_pool_release of what is no block, count */
  uint64_t contended;                     /* waits for another thread, count */
  uint64_t sizes[KILN_POOL_SIZE_BUCKETS]; /* allocations by size given, bytes */
  uint64_t waits[KILN_POOL_WAIT_BUCKETS]; /* waits by length, nanoseconds */
} kiln_pool_stats;

/*--- The table: the way into a pool that may be code of another artefact ----*/

/* One owner's way into a pool, without any lock as long as it has blocks. One
 * thread at a time; a session has one. */
typedef struct kiln_pool_cache kiln_pool_cache;

/* Call through the functions below, not through these pointers. It only grows. */
typedef struct kiln_pool_api {
  uint32_t struct_size;
  uint32_t abi; /* KILN_ABI_VERSION of its maker */
  kiln_status_t (*allocate)(kiln_pool *pool, uint64_t bytes, void **memory);
  kiln_status_t (*release)(kiln_pool *pool, void *memory);
  void (*stats)(kiln_pool *pool, kiln_pool_stats *stats);
  kiln_status_t (*trim)(kiln_pool *pool, uint64_t keep);
  kiln_status_t (*destroy)(kiln_pool *pool);

  /* The rest is for runtimes. A pool lives until its last user has dropped it. */
  void (*retain)(kiln_pool *pool);
  void (*drop)(kiln_pool *pool);
  void *(*allocate_static)(kiln_pool *pool, uint64_t bytes);
  void (*release_static)(kiln_pool *pool, void *memory, uint64_t bytes);
  /* Grows with every trim: who holds more than it needs gives it back then. */
  uint64_t (*trim_count)(const kiln_pool *pool);
  /* NULL: no memory. A cache retains its pool. */
  kiln_pool_cache *(*cache_create)(kiln_pool *pool);
  void (*cache_destroy)(kiln_pool_cache *cache);
  void *(*cache_allocate)(kiln_pool_cache *cache, uint64_t bytes);
  /* `bytes` as it was asked for; the block may come from another cache. */
  void (*cache_release)(kiln_pool_cache *cache, void *memory, uint64_t bytes);
  /* From any thread, without a cache. */
  void (*release_shared)(kiln_pool *pool, void *memory, uint64_t bytes);
} kiln_pool_api;

struct kiln_pool {
  const kiln_pool_api *api;
};
struct kiln_pool_cache {
  const kiln_pool_api *api;
};

/*--- Calls ------------------------------------------------------------------*/

/* A block of at least `bytes` (0 counts as 1), for inputs and outputs of the
 * caller's. Since 1.1. KILN_OUT_OF_MEMORY, KILN_INVALID_ARGUMENT. */
KILN_INLINE kiln_status_t kiln_pool_allocate(kiln_pool *pool, uint64_t bytes, void **memory) {
  return pool && memory ? pool->api->allocate(pool, bytes, memory) : KILN_INVALID_ARGUMENT;
}

/* Gives a block of kiln_pool_allocate back, from any thread. Of anything else
 * (given back before, another pool's, inside of a block) it says
 * KILN_INVALID_ARGUMENT and does nothing. KILN_DAMAGED: in debug mode, its guard
 * bytes were overwritten; it is given back. NULL is allowed. Since 1.1. */
KILN_INLINE kiln_status_t kiln_pool_release(kiln_pool *pool, void *memory) {
  return pool ? pool->api->release(pool, memory) : KILN_INVALID_ARGUMENT;
}

/* Fills the first stats->struct_size bytes, which the caller sets. Since 1.1. */
KILN_INLINE kiln_status_t kiln_pool_get_stats(kiln_pool *pool, kiln_pool_stats *stats) {
  if (!pool || !stats || stats->struct_size < sizeof(size_t))
    return KILN_INVALID_ARGUMENT;
  pool->api->stats(pool, stats);
  return KILN_OK;
}

/* Gives memory without use back to the source until `keep` bytes of it are
 * left. Sessions that share the pool give back what their latest shapes do not
 * need with their next run. Since 1.1. */
KILN_INLINE kiln_status_t kiln_pool_trim(kiln_pool *pool, uint64_t keep) {
  return pool ? pool->api->trim(pool, keep) : KILN_INVALID_ARGUMENT;
}

/* KILN_BUSY, and nothing happens, while a session uses it or a block of it has
 * not been given back. NULL is allowed. Since 1.1. */
KILN_INLINE kiln_status_t kiln_pool_destroy(kiln_pool *pool) {
  return pool ? pool->api->destroy(pool) : KILN_OK;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_MEMORY_H */
