//===- Warp.h - Barriers and warp-wide intrinsics ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_WARP_H
#define KILN_CUDASIM_WARP_H

#include "kiln/cudasim/Keywords.h"

KILN_INLINE void __syncthreads() { kiln::cudasim::kilnSimBarrier(); }
KILN_INLINE int __syncthreads_and(int p) {
  return kiln::cudasim::kilnSimBarrierVote(kiln::cudasim::kBarrierAnd, p);
}
KILN_INLINE int __syncthreads_or(int p) {
  return kiln::cudasim::kilnSimBarrierVote(kiln::cudasim::kBarrierOr, p);
}
KILN_INLINE int __syncthreads_count(int p) {
  return kiln::cudasim::kilnSimBarrierVote(kiln::cudasim::kBarrierCount, p);
}
KILN_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { kiln::cudasim::kilnSimSyncwarp(mask); }
// Atomics are the only way in which blocks and warps talk between barriers, and
// those of the model are ordered.
KILN_INLINE void __threadfence() {}
KILN_INLINE void __threadfence_block() {}
KILN_INLINE void __threadfence_system() {}

namespace kiln::cudasim {
template <class T> KILN_INLINE T shuffled(unsigned mask, T v, int source) {
  static_assert(sizeof v <= 8, "a shuffle moves up to 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, static_cast<const void *>(&v), sizeof v);
  bits = kilnSimShuffle(mask, bits, source);
  __builtin_memcpy(static_cast<void *>(&v), &bits, sizeof v);
  return v;
}
template <class T> KILN_INLINE uint64_t bitsOf(T v) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, static_cast<const void *>(&v), sizeof v);
  return bits;
}
} // namespace kiln::cudasim

template <class T> KILN_INLINE T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
  return kiln::cudasim::shuffled(mask, v, (kiln::cudasim::lane() & -width) | (from & (width - 1)));
}
template <class T> KILN_INLINE T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  const int lane = kiln::cudasim::lane(), from = lane ^ bits;
  return kiln::cudasim::shuffled(mask, v, from < (lane & -width) + width ? from : lane);
}
template <class T> KILN_INLINE T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
  const int lane = kiln::cudasim::lane(), from = lane + static_cast<int>(by);
  return kiln::cudasim::shuffled(mask, v, from < (lane & -width) + width ? from : lane);
}
template <class T> KILN_INLINE T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
  const int lane = kiln::cudasim::lane(), from = lane - static_cast<int>(by);
  return kiln::cudasim::shuffled(mask, v, from >= (lane & -width) ? from : lane);
}

KILN_INLINE unsigned __ballot_sync(unsigned mask, int p) {
  return kiln::cudasim::kilnSimVote(mask, kiln::cudasim::kVoteBallot, p != 0);
}
KILN_INLINE int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
KILN_INLINE int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }
template <class T> KILN_INLINE unsigned __match_any_sync(unsigned mask, T v) {
  return kiln::cudasim::kilnSimVote(mask, kiln::cudasim::kVoteMatchAny, kiln::cudasim::bitsOf(v));
}
template <class T> KILN_INLINE unsigned __match_all_sync(unsigned mask, T v, int *all) {
  const unsigned r =
      kiln::cudasim::kilnSimVote(mask, kiln::cudasim::kVoteMatchAll, kiln::cudasim::bitsOf(v));
  *all = r != 0;
  return r;
}
KILN_INLINE unsigned __activemask() { return kiln::cudasim::kilnSimActiveMask(); }

#define KILN_SIM_REDUCE(name, op, type)                                                            \
  KILN_INLINE type name(unsigned mask, type v) {                                                   \
    return static_cast<type>(                                                                      \
        kiln::cudasim::kilnSimReduce(mask, kiln::cudasim::op, static_cast<unsigned>(v)));          \
  }
KILN_SIM_REDUCE(__reduce_add_sync, kReduceAdd, unsigned)
KILN_SIM_REDUCE(__reduce_add_sync, kReduceAdd, int)
KILN_SIM_REDUCE(__reduce_min_sync, kReduceMinU, unsigned)
KILN_SIM_REDUCE(__reduce_min_sync, kReduceMin, int)
KILN_SIM_REDUCE(__reduce_max_sync, kReduceMaxU, unsigned)
KILN_SIM_REDUCE(__reduce_max_sync, kReduceMax, int)
KILN_SIM_REDUCE(__reduce_and_sync, kReduceAnd, unsigned)
KILN_SIM_REDUCE(__reduce_or_sync, kReduceOr, unsigned)
KILN_SIM_REDUCE(__reduce_xor_sync, kReduceXor, unsigned)
#undef KILN_SIM_REDUCE

#endif // KILN_CUDASIM_WARP_H
