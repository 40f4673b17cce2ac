//===- Atomics.h - Atomic functions -----------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_ATOMICS_H
#define KILN_CUDASIM_ATOMICS_H

#include "kiln/cudasim/Warp.h"

namespace kiln::cudasim {
template <AtomicType Type, AtomicOp Op, class T>
KILN_INLINE T atomic(T *p, T v, uint64_t expected = 0) {
  const uint64_t old = kilnSimAtomic(p, Type, Op, bitsOf(v), expected);
  T r;
  __builtin_memcpy(static_cast<void *>(&r), &old, sizeof r);
  return r;
}
} // namespace kiln::cudasim

#define KILN_SIM_ATOMIC(name, op, T, type)                                                         \
  KILN_INLINE T name(T *p, T v) {                                                                  \
    return kiln::cudasim::atomic<kiln::cudasim::type, kiln::cudasim::op>(p, v);                    \
  }
#define KILN_SIM_ATOMIC_INTEGERS(name, op)                                                         \
  KILN_SIM_ATOMIC(name, op, int, kAtomicI32)                                                       \
  KILN_SIM_ATOMIC(name, op, unsigned, kAtomicU32)                                                  \
  KILN_SIM_ATOMIC(name, op, unsigned long long, kAtomicU64)
KILN_SIM_ATOMIC_INTEGERS(atomicAdd, kAtomicAdd)
KILN_SIM_ATOMIC(atomicAdd, kAtomicAdd, float, kAtomicF32)
KILN_SIM_ATOMIC(atomicAdd, kAtomicAdd, double, kAtomicF64)
KILN_SIM_ATOMIC(atomicAdd, kAtomicAdd, __half2, kAtomicF16x2)
KILN_SIM_ATOMIC(atomicAdd, kAtomicAdd, __half, kAtomicF16)
KILN_SIM_ATOMIC(atomicAdd, kAtomicAdd, __nv_bfloat162, kAtomicBf16x2)
KILN_SIM_ATOMIC(atomicAdd, kAtomicAdd, __nv_bfloat16, kAtomicBf16)
KILN_SIM_ATOMIC_INTEGERS(atomicMin, kAtomicMin)
KILN_SIM_ATOMIC(atomicMin, kAtomicMin, long long, kAtomicI64)
KILN_SIM_ATOMIC_INTEGERS(atomicMax, kAtomicMax)
KILN_SIM_ATOMIC(atomicMax, kAtomicMax, long long, kAtomicI64)
KILN_SIM_ATOMIC_INTEGERS(atomicAnd, kAtomicAnd)
KILN_SIM_ATOMIC_INTEGERS(atomicOr, kAtomicOr)
KILN_SIM_ATOMIC_INTEGERS(atomicXor, kAtomicXor)
KILN_SIM_ATOMIC_INTEGERS(atomicExch, kAtomicExchange)
KILN_SIM_ATOMIC(atomicExch, kAtomicExchange, float, kAtomicF32)
KILN_SIM_ATOMIC(atomicInc, kAtomicInc, unsigned, kAtomicU32)
KILN_SIM_ATOMIC(atomicDec, kAtomicDec, unsigned, kAtomicU32)
#undef KILN_SIM_ATOMIC_INTEGERS
#undef KILN_SIM_ATOMIC

KILN_INLINE int atomicSub(int *p, int v) { return atomicAdd(p, -v); }
KILN_INLINE unsigned atomicSub(unsigned *p, unsigned v) { return atomicAdd(p, 0u - v); }
#define KILN_SIM_CAS(T, type)                                                                      \
  KILN_INLINE T atomicCAS(T *p, T expected, T v) {                                                 \
    return kiln::cudasim::atomic<kiln::cudasim::type, kiln::cudasim::kAtomicCas>(                  \
        p, v, kiln::cudasim::bitsOf(expected));                                                    \
  }
KILN_SIM_CAS(int, kAtomicI32)
KILN_SIM_CAS(unsigned, kAtomicU32)
KILN_SIM_CAS(unsigned long long, kAtomicU64)
#undef KILN_SIM_CAS

#endif // KILN_CUDASIM_ATOMICS_H
