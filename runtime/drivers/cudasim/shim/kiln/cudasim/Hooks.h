//===- Hooks.h - What kernels call of the simulator -------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every call that the simulator must see is a real call, so that its return
// address names the kernel's line.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_HOOKS_H
#define KILN_CUDASIM_HOOKS_H

#include <cstddef>
#include <cstdint>

#define KILN_INLINE __attribute__((always_inline)) inline

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KILN_SIM_CHECKED 1
#endif
#endif

namespace kiln::cudasim {

struct Bits16 { // Returned in two registers.
  uint64_t low, high;
};

enum ReduceOp : int {
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceMinU,
  kReduceMaxU,
  kReduceAnd,
  kReduceOr,
  kReduceXor
};
enum VoteOp : int { kVoteBallot, kVoteMatchAny, kVoteMatchAll };
enum BarrierOp : int { kBarrierAnd, kBarrierOr, kBarrierCount };
enum MmaKind : int {
  kMmaF16,
  kMmaBf16,
  kMmaTf32,
  kMmaS8S8,
  kMmaS8U8,
  kMmaU8S8,
  kMmaU8U8,
  kMmaKinds
};
enum AtomicType : int {
  kAtomicI32,
  kAtomicU32,
  kAtomicU64,
  kAtomicI64,
  kAtomicF32,
  kAtomicF64,
  kAtomicF16x2,
  kAtomicBf16x2,
  kAtomicF16,
  kAtomicBf16
};
enum AtomicOp : int {
  kAtomicAdd,
  kAtomicMin,
  kAtomicMax,
  kAtomicAnd,
  kAtomicOr,
  kAtomicXor,
  kAtomicExchange,
  kAtomicCas,
  kAtomicInc,
  kAtomicDec
};

extern "C" {
#pragma GCC visibility push(hidden)
/// 0-2 threadIdx, 3-5 blockIdx, 6-8 blockDim, 9-11 gridDim. Constant within a
/// thread of a kernel: the compiler may keep it.
[[gnu::const]] unsigned kilnSimIndex(int which) noexcept;
void kilnSimBarrier();
int kilnSimBarrierVote(int op, int predicate);
void kilnSimSyncwarp(unsigned mask);
uint64_t kilnSimShuffle(unsigned mask, uint64_t value, int source);
unsigned kilnSimVote(unsigned mask, int op, uint64_t value);
unsigned kilnSimReduce(unsigned mask, int op, unsigned value);
unsigned kilnSimActiveMask();
/// Any warp-wide call, modelled by `work` in one of the lanes; `values` has one
/// pointer a lane.
void kilnSimCollective(unsigned mask, void *value,
                       void (*work)(void *const *values, unsigned mask));
unsigned char *kilnSimDynamicShared();
void kilnSimLdmatrix(uint32_t *registers, const void *const *rows, int count, int transposed);
void kilnSimMma(int kind, void *d, const uint32_t *a, const uint32_t *b, int m, int n);
/// `bytes` from `from`, zeros up to `size`.
void kilnSimAsyncCopy(void *to, const void *from, int size, int bytes);
void kilnSimAsyncCommit();
void kilnSimAsyncWait(int groups);
uint64_t kilnSimAtomic(void *p, int type, int op, uint64_t operand, uint64_t expected);
int kilnSimDp4a(int isSigned, int a, int b, int c);
[[noreturn]] void kilnSimTrap();
uint64_t kilnSimClock();
// One access each, as the device does it: SROA would split a 16-byte one before
// the instrumentation sees it.
uint32_t kilnSimLoad4(const void *p);
uint64_t kilnSimLoad8(const void *p);
Bits16 kilnSimLoad16(const void *p);
void kilnSimStore4(void *p, uint32_t value);
void kilnSimStore8(void *p, uint64_t value);
void kilnSimStore16(void *p, Bits16 value);
#pragma GCC visibility pop
}

} // namespace kiln::cudasim

#endif // KILN_CUDASIM_HOOKS_H
