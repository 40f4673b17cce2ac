//===- KilnSim.h - The simulated CUDA device's own interface ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libkiln-cudasim.so exports the CUDA driver's symbols (../cuda/DriverAPI.h) and
// these. docs/cuda/simulator.md says what is modelled.
//
// Every function may be called from any thread. Text that is handed out lives
// until the next kilnSimConfigure or kilnSimReset.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_KILNSIM_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_KILNSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a device reports of itself.
typedef struct kiln_sim_device {
  char name[64];
  uint32_t major, minor; /* compute capability */
  uint32_t multiprocessors;
  uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
  uint32_t l2_bytes;
  uint32_t threads_per_multiprocessor, blocks_per_multiprocessor;
  uint32_t registers_per_multiprocessor;
  uint32_t shared_per_multiprocessor, shared_per_block_optin, shared_reserved_per_block;
} kiln_sim_device;

/// Zero everywhere, but for struct_size, means the default. An environment
/// variable KILN_SIM_<FIELD> gives the default of a number or `architecture`.
typedef struct kiln_sim_options {
  size_t struct_size;
  const char *architecture;      /* "sm_80", the default; facts from Devices.def */
  const kiln_sim_device *device; /* instead of `architecture` */
  uint64_t device_count;         /* 1 */
  uint64_t memory_bytes;         /* of each device: 8 GiB */
  uint64_t seed;                 /* 1: order of threads, warps, blocks and streams */
  uint64_t no_checks;            /* 1: modules built with checks neither judge nor count */
  uint64_t replays;              /* runs every launch under so many more seeds and compares */
  uint64_t host_threads;         /* 1: blocks of a launch run on so many */
  uint64_t eager;                /* 1: streams run at once, not when something waits */

  /* Faults, each at the n-th event since the options were set; 0 is never. */
  uint64_t fail_allocation; /* out of memory */
  uint64_t fail_launch;     /* the launch is refused, nothing else happens */
  uint64_t sticky_launch;   /* the launch fails on the device: its context is lost */
  uint64_t lose_device;     /* from this call of the driver on every call fails */
  uint64_t flip_launch;     /* before this launch a bit of device memory flips: */
  uint64_t flip_address;    /*   bit flip_bit (0-7) of this byte */
  uint64_t flip_bit;
  uint64_t stall_launch; /* this launch's stream stands still for stall_milliseconds first */
  uint64_t stall_milliseconds;
  /* flip_address counts from the beginning of the n-th allocation; 0: it is an address. */
  uint64_t flip_allocation;
} kiln_sim_options;

typedef enum kiln_sim_finding_kind {
#define KILN_SIM_FINDING(name, text, error) KILN_SIM_##name,
#include "Findings.def"
  KILN_SIM_FINDING_KINDS
} kiln_sim_finding_kind;

typedef struct kiln_sim_finding {
  kiln_sim_finding_kind kind;
  const char *name;   /* "MISALIGNED" */
  const char *text;   /* the whole finding in words, one paragraph */
  const char *kernel; /* "" where none is at fault */
  const char *where;  /* "file:line", then " < file:line" for each caller it was inlined into */
  uint32_t block[3];
  int32_t thread[3]; /* -1: none */
  uint64_t address;
  uint32_t bytes;
  int32_t other_thread[3]; /* the other party, -1: none */
  uint32_t other_block[3];
  const char *other_where; /* "" where unknown */
  uint64_t count;          /* how often at this place */
} kiln_sim_finding;

/// Units that arithmetic runs on; a vector operation counts once a lane.
typedef enum kiln_sim_unit {
  KILN_SIM_FP32, /* add, multiply, fused multiply-add, compare, min, max, convert */
  KILN_SIM_FP64,
  KILN_SIM_HALF,    /* operations of __half and __nv_bfloat16 */
  KILN_SIM_SPECIAL, /* exp2, log2, sin, cos, reciprocals, roots */
  KILN_SIM_INTEGER,
  KILN_SIM_DP4A,
  KILN_SIM_UNITS
} kiln_sim_unit;

typedef enum kiln_sim_mma_kind {
  KILN_SIM_MMA_F16,
  KILN_SIM_MMA_BF16,
  KILN_SIM_MMA_TF32,
  KILN_SIM_MMA_INT8,
  KILN_SIM_MMA_KINDS
} kiln_sim_mma_kind;

/// Sums over launches. A warp operation is one instruction of a warp, whatever
/// the number of its lanes that take part.
typedef struct kiln_sim_counts {
  uint64_t launches, blocks, threads;
  uint64_t global_reads, global_writes;                /* warp operations */
  uint64_t global_read_bytes, global_write_bytes;      /* asked for, a lane at a time */
  uint64_t unique_read_bytes, unique_written_bytes;    /* each byte once a launch */
  uint64_t sectors, ideal_sectors;                     /* of 32 bytes; ideal: bytes wanted / 32 */
  uint64_t shared_reads, shared_writes;                /* warp operations */
  uint64_t shared_wavefronts, ideal_shared_wavefronts; /* the difference are bank conflicts */
  uint64_t async_copies;                               /* cp.async, warp operations */
  uint64_t atomics;                                    /* warp operations */
  uint64_t barriers;                                   /* of a block */
  uint64_t warp_calls;                                 /* shuffles, votes, __syncwarp, matrices */
  uint64_t mma[KILN_SIM_MMA_KINDS];                    /* tiles of 16 x 8 and 32 bytes of k */
  uint64_t arithmetic[KILN_SIM_UNITS];                 /* a lane at a time */
  uint64_t branches, divergent_branches; /* warps at a block of code; with part of them */
} kiln_sim_counts;

/// One line of a kernel that accesses memory.
typedef struct kiln_sim_site {
  const char *kernel, *where;
  char space;     /* 'g' global, 's' shared */
  char operation; /* 'r', 'w', 'a' atomic, 'c' asynchronous copy */
  uint64_t warp_operations, lanes, bytes;
  uint64_t units, ideal_units; /* sectors (global) or wavefronts (shared) */
} kiln_sim_site;

/// Takes effect for contexts and allocations made later; findings and counts
/// start afresh, and so do the numbers of faults. 0, or -1 where the options or
/// the device are not valid.
int kilnSimConfigure(const kiln_sim_options *options);
/// Forgets findings and counts.
void kilnSimReset(void);

size_t kilnSimFindingCount(void);
int kilnSimFinding(size_t index, kiln_sim_finding *finding);
/// Of one kernel, or with null of all.
int kilnSimCounts(const char *kernel, kiln_sim_counts *counts);
size_t kilnSimSiteCount(void);
int kilnSimSite(size_t index, kiln_sim_site *site);
/// All of it in words.
const char *kilnSimReport(void);

/// Marks device memory as never written, and fills it with 0xff: for memory that
/// starts a new life without a new allocation. 0, or -1 for a wrong range.
int kilnSimPoison(uint64_t address, size_t bytes);
/// Reports bytes of the range that nobody wrote, as a copy to the host would.
/// Their number.
size_t kilnSimExpectWritten(uint64_t address, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_DRIVERS_CUDASIM_KILNSIM_H */
