//===- WarpModel.cpp - Warp-wide operations -------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last lane of a warp to come does the work for all: the others' arguments
// lie on their stacks, which live as long as they wait.
//
//===----------------------------------------------------------------------===//
#include "WarpModel.h"
#include "Matrix.h"

#include <bit>

namespace kiln::cudasim {

struct WarpModel {
  Machine &m;
  unsigned warp;
  uint32_t mask;

  template <class T> T &args(unsigned lane) const {
    return *static_cast<T *>(m.warps[warp].args[lane]);
  }
  template <class Visit> void forLanes(Visit visit) const {
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      visit(unsigned(std::countr_zero(rest)));
  }

  void shuffle() const {
    uint64_t values[32];
    forLanes([&](unsigned l) { values[l] = args<ShuffleArgs>(l).value; });
    forLanes([&](unsigned l) {
      ShuffleArgs &a = args<ShuffleArgs>(l);
      const unsigned source = a.source & 31;
      if (mask >> source & 1)
        a.value = values[source];
      else
        m.find(KILN_SIM_SHUFFLE_FROM_ABSENT, m.lanes[warp * 32 + l].pc, warp * 32 + l, mask, 0,
               warp * 32 + source, 0, unsigned(WarpOp::Shuffle) + 1);
    });
  }

  void vote() const {
    uint64_t values[32];
    int op = 0;
    uint32_t ballot = 0;
    forLanes([&](unsigned l) {
      values[l] = args<VoteArgs>(l).value;
      op = args<VoteArgs>(l).op;
      ballot |= uint32_t(values[l] != 0) << l;
    });
    forLanes([&](unsigned l) {
      uint32_t same = 0;
      if (op != kVoteBallot)
        forLanes([&](unsigned k) { same |= uint32_t(values[k] == values[l]) << k; });
      args<VoteArgs>(l).result = op == kVoteBallot     ? ballot
                                 : op == kVoteMatchAny ? same
                                                       : (same == mask ? mask : 0);
    });
  }

  void reduce() const {
    uint32_t r = 0;
    bool first = true;
    forLanes([&](unsigned l) {
      const ReduceArgs &a = args<ReduceArgs>(l);
      r = first ? a.value : combine(a.op, r, a.value);
      first = false;
    });
    forLanes([&](unsigned l) { args<ReduceArgs>(l).value = r; });
  }

  static uint32_t combine(int op, uint32_t a, uint32_t b) {
    switch (op) {
    case kReduceAdd:
      return a + b;
    case kReduceMin:
      return int32_t(b) < int32_t(a) ? b : a;
    case kReduceMax:
      return int32_t(a) < int32_t(b) ? b : a;
    case kReduceMinU:
      return b < a ? b : a;
    case kReduceMaxU:
      return a < b ? b : a;
    case kReduceAnd:
      return a & b;
    case kReduceOr:
      return a | b;
    default:
      return a ^ b;
    }
  }
};

// Not inlined into `meet`: its frame would lie on every waiting stack.
[[gnu::noinline]] void Machine::execute(unsigned warpIndex, WarpOp op, uint32_t mask) {
  ++counts.warp_calls;
  const WarpModel model{*this, warpIndex, mask};
  switch (op) {
  case WarpOp::Syncwarp:
    return syncwarp(warpIndex, mask);
  case WarpOp::Shuffle:
    return model.shuffle();
  case WarpOp::Vote:
    return model.vote();
  case WarpOp::Reduce:
    return model.reduce();
  case WarpOp::Ldmatrix:
  case WarpOp::LdmatrixTrans:
    return runLdmatrix(warps[warpIndex].args, op == WarpOp::LdmatrixTrans);
  case WarpOp::Mma: {
    const MmaArgs &a = model.args<MmaArgs>(0);
    const int kinds[] = {KILN_SIM_MMA_F16,  KILN_SIM_MMA_BF16, KILN_SIM_MMA_TF32, KILN_SIM_MMA_INT8,
                         KILN_SIM_MMA_INT8, KILN_SIM_MMA_INT8, KILN_SIM_MMA_INT8};
    counts.mma[kinds[a.kind]] += uint64_t(a.m) * a.n;
    return runMma(warps[warpIndex].args);
  }
  case WarpOp::Collective:
    return model.args<CollectiveArgs>(std::countr_zero(mask)).work(warps[warpIndex].values, mask);
  }
}

const char *nameOf(WarpOp op) {
  static const char *const names[] = {"__syncwarp", "__shfl_sync",    "vote", "__reduce_sync",
                                      "ldmatrix",   "ldmatrix.trans", "mma",  "warp-wide call"};
  return names[unsigned(op)];
}

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

#define PLACE machine->place(reinterpret_cast<uintptr_t>(__builtin_return_address(0)))

extern "C" {
unsigned kilnSimIndex(int which) noexcept {
  return which < 3 ? machine->current->index[which] : machine->index[which];
}
void kilnSimBarrier() { machine->barrier(PLACE); }
int kilnSimBarrierVote(int op, int predicate) {
  Machine &m = *machine;
  m.votes[kBarrierAnd] &= predicate != 0;
  m.votes[kBarrierOr] |= predicate != 0;
  m.votes[kBarrierCount] += predicate != 0;
  m.barrier(PLACE);
  return m.voted[op];
}
void kilnSimSyncwarp(unsigned mask) { machine->meet(WarpOp::Syncwarp, mask, nullptr, PLACE); }
uint64_t kilnSimShuffle(unsigned mask, uint64_t value, int source) {
  ShuffleArgs a{value, source};
  machine->meet(WarpOp::Shuffle, mask, &a, PLACE);
  return a.value;
}
unsigned kilnSimVote(unsigned mask, int op, uint64_t value) {
  VoteArgs a{value, op, 0};
  machine->meet(WarpOp::Vote, mask, &a, PLACE);
  return a.result;
}
unsigned kilnSimReduce(unsigned mask, int op, unsigned value) {
  ReduceArgs a{value, op};
  machine->meet(WarpOp::Reduce, mask, &a, PLACE);
  return a.value;
}
/// CUDA does not promise that lanes are together, so the model says that none are.
unsigned kilnSimActiveMask() { return 1u << (machine->current->id & 31); }
void kilnSimCollective(unsigned mask, void *value, void (*work)(void *const *, unsigned)) {
  CollectiveArgs a{work};
  machine->setValue(value);
  machine->meet(WarpOp::Collective, mask, &a, PLACE);
}
unsigned char *kilnSimDynamicShared() {
  return reinterpret_cast<unsigned char *>(machine->dynamicShared);
}
void kilnSimLdmatrix(uint32_t *registers, const void *const *rows, int count, int transposed) {
  Machine &m = *machine;
  for (int i = 0; i < count; ++i)
    m.record(reinterpret_cast<uintptr_t>(rows[i]), 16, AccessKind::Read,
             reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  LdmatrixArgs a{registers, rows, count};
  m.meet(transposed ? WarpOp::LdmatrixTrans : WarpOp::Ldmatrix, ~0u, &a, PLACE);
}
void kilnSimMma(int kind, void *d, const uint32_t *a, const uint32_t *b, int mTiles, int nTiles) {
  MmaArgs x{kind, d, a, b, mTiles, nTiles};
  machine->meet(WarpOp::Mma, ~0u, &x, PLACE);
}
int kilnSimDp4a(int isSigned, int a, int b, int c) {
  unsigned sum = unsigned(c);
  for (int i = 0; i < 32; i += 8)
    sum += isSigned ? unsigned(int8_t(a >> i) * int8_t(b >> i))
                    : unsigned(uint8_t(a >> i)) * uint8_t(b >> i);
  ++machine->counts.arithmetic[KILN_SIM_DP4A];
  return int(sum);
}
void kilnSimTrap() { machine->trap(PLACE); }
uint64_t kilnSimClock() { return machine->cycles(); }
}

} // namespace kiln::cudasim
