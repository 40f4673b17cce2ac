//===- Machine.cpp - The order in which a block's threads run -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A meeting counts arrivals; the last to come works for all and wakes the rest.
// There is no scheduler's fibre: one that must wait goes straight to the next
// that is ready. Warps are shuffled at each barrier and lanes rotated at each
// wake, both by the seed. One warp runs as far as it can before the next: that is
// what exposes a missing barrier by value.
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace kiln::cudasim {

thread_local Machine *machine = nullptr;

Machine::Machine(DeviceMemory &memory)
    : memory(memory), stacks(kMaxThreads), logs(size_t(kMaxThreads) * kLogCapacity) {
  void *shared = mmap(nullptr, kMaxDynamicShared, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  dynamicShared = shared == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(shared);
  for (unsigned i = 0; i < kMaxThreads; ++i) {
    lanes[i].id = i;
    lanes[i].log = logs.data() + size_t(i) * kLogCapacity;
  }
}

Machine::~Machine() {
  if (dynamicShared)
    munmap(reinterpret_cast<void *>(dynamicShared), kMaxDynamicShared);
}

void Machine::begin(const Launch &newLaunch, const ModuleCopy &newCopy,
                    const LaunchOptions &newOptions) {
  launch = &newLaunch;
  copy = &newCopy;
  options = newOptions;
  options.checks &= copy->module->checked != 0;
  threads = launch->threads();
  warpCount = (threads + 31) / 32;
  dynamicBytes = launch->dynamicShared;
  staticShared = reinterpret_cast<uintptr_t>(copy->module->shared);
  staticBytes = copy->module->sharedEnd - copy->module->shared;
  cells.resize((staticBytes + kMaxDynamicShared) / 4 + 8);
  counts = {};
  result = {};
  synchronised.clear();
  std::fill(std::begin(siteCache), std::end(siteCache), std::pair<uint64_t, Site *>{});
  for (unsigned d = 0; d < 3; ++d) {
    index[6 + d] = launch->block[d];
    index[9 + d] = launch->grid[d];
  }
  for (unsigned t = 0; t < threads; ++t) {
    Lane &l = lanes[t];
    l.index[0] = t % launch->block[0];
    l.index[1] = t / launch->block[0] % launch->block[1];
    l.index[2] = t / launch->block[0] / launch->block[1];
    l.stack = stacks.start(t, enter, l.watched);
    l.logged = l.groups = 0;
    l.copies.clear();
  }
  if (aborted) // Copies may be in flight still.
    std::fill(cells.begin(), cells.end(), Cell{});
  aborted = false;
  main.watched.setToThread();
  current = &main;
}

LaunchResult Machine::finish() {
  result.counts = counts;
  result.aborted = aborted;
  launch = nullptr;
  return std::move(result);
}

bool Machine::runBlock(uint64_t newBlock) {
  constexpr uint32_t kClockLimit = 1u << 31;
  if (clock > kClockLimit) {
    std::fill(cells.begin(), cells.end(), Cell{});
    clock = 1;
  }
  block = newBlock;
  index[3] = block % launch->grid[0];
  index[4] = block / launch->grid[0] % launch->grid[1];
  index[5] = block / launch->grid[0] / launch->grid[1];
  // A block's order depends on the seed and the block only, so not on the number
  // of host threads.
  state = (options.seed * 0x9e3779b97f4a7c15ull) ^ (block * 0xd1342543de82ef95ull) ^ 0x2545f491;
  state |= state == 0;
  for (int i = 0; i < 4; ++i)
    random();
  memset(reinterpret_cast<void *>(dynamicShared), 0xff, dynamicBytes);
  memset(reinterpret_cast<void *>(staticShared), 0xff, staticBytes);
  blockStart = blockSync = clock++;
  arrived = warp = 0;
  alive = threads;
  votes[kBarrierAnd] = 1;
  votes[kBarrierOr] = votes[kBarrierCount] = 0;
  for (unsigned w = 0; w < warpCount; ++w) {
    Warp &x = warps[w];
    const unsigned n = std::min(32u, threads - w * 32);
    x.ready = x.calls = x.atBarrier = x.logFull = 0;
    x.alive = n == 32 ? ~0u : (1u << n) - 1;
    x.synced = blockStart;
    x.partial = false;
    order[w] = w;
    wake(x, x.alive);
  }
  shuffleOrder();
  ++counts.blocks;
  counts.threads += threads;
  switchTo(pick());
  return !aborted;
}

void Machine::shuffleOrder() {
  for (unsigned i = warpCount; i > 1; --i)
    std::swap(order[i - 1], order[random() % i]);
}

void Machine::switchTo(Lane *to) {
  Lane *from = current;
  // Its stack is the one in use: what was saved of it is from long ago.
  if (from == to)
    return;
  current = to;
  from->watched.leaveFor(to->watched);
  kilnSimSwitch(&from->stack, to->stack);
  from->watched.arrive();
}

/// Where every fibre begins; it is used again for the next block.
void Machine::enter() {
  machine->current->watched.arrive();
  for (;;) {
    Machine &m = *machine;
    const Launch &launch = *m.launch;
    void *parameters[64];
    for (size_t i = 0; i < launch.parameterAt.size(); ++i)
      parameters[i] = const_cast<unsigned char *>(launch.parameters.data()) + launch.parameterAt[i];
    m.copy->module->kernels[launch.kernel].invoke(parameters);
    m.endOfThread();
  }
}

void Machine::endOfThread() {
  Lane &l = *current;
  for (AsyncCopy &c : l.copies) {
    find(KILN_SIM_ASYNC_NEVER_WAITED, c.pc, l.id, reinterpret_cast<uintptr_t>(c.to), c.size);
    // No later block may find it in flight.
    const uintptr_t at = reinterpret_cast<uintptr_t>(c.to);
    record(at, c.size, AccessKind::AsyncLand, copy->base + c.pc);
  }
  l.copies.clear();
  const unsigned wi = l.id / 32;
  Warp &w = warps[wi];
  --alive;
  w.alive &= ~(1u << (l.id & 31));
  for (unsigned i = 0; i < w.calls; ++i)
    if (w.call[i].mask >> (l.id & 31) & 1) {
      const unsigned waiting = wi * 32 + std::countr_zero(w.call[i].here);
      find(KILN_SIM_MASK_WITH_ENDED_LANE, lanes[waiting].pc, waiting, w.call[i].mask, 0, l.id, 0,
           unsigned(w.call[i].op) + 1);
      abandon();
    }
  if (alive && arrived == alive)
    releaseBarrier();
  if (!w.alive)
    flush(wi);
  switchTo(alive ? pick() : &main);
}

Lane *Machine::pick() {
  for (;;) {
    for (unsigned tried = 0; tried <= warpCount; ++tried) {
      Warp &w = warps[order[warp]];
      if (w.ready) {
        const unsigned l = (std::countr_zero(std::rotr(w.ready, w.rotate)) + w.rotate) & 31;
        w.ready &= ~(1u << l);
        return &lanes[order[warp] * 32 + l];
      }
      warp = warp + 1 == warpCount ? 0 : warp + 1;
    }
    if (flushFullLogs())
      continue;
    reportDeadlock();
    return &main;
  }
}

bool Machine::flushFullLogs() {
  bool any = false;
  for (unsigned w = 0; w < warpCount; ++w)
    if (const uint32_t full = warps[w].logFull) {
      flush(w);
      warps[w].logFull = 0;
      wake(warps[w], full);
      any = true;
    }
  return any;
}

void Machine::reportDeadlock() {
  for (unsigned w = 0; w < warpCount; ++w) {
    const Warp &x = warps[w];
    for (unsigned i = 0; i < x.calls; ++i) {
      const Call &call = x.call[i];
      const unsigned t = w * 32 + std::countr_zero(call.here);
      const uint32_t absent = call.mask & ~call.here;
      const unsigned other = w * 32 + std::countr_zero(absent);
      find(KILN_SIM_WARP_DEADLOCK, lanes[t].pc, t, call.mask, 0, other, lanes[other].pc,
           unsigned(call.op) + 1);
    }
    if (x.atBarrier) {
      const unsigned t = w * 32 + std::countr_zero(x.atBarrier);
      int other = -1;
      for (unsigned v = 0; v < warpCount && other < 0; ++v)
        if (const uint32_t absent = warps[v].alive & ~warps[v].atBarrier)
          other = v * 32 + std::countr_zero(absent);
      find(KILN_SIM_BARRIER_DEADLOCK, lanes[t].pc, t, 0, 0, other, other < 0 ? 0 : lanes[other].pc);
    }
  }
  aborted = true;
}

/// The launch is over; its fibres are dropped where they stand.
void Machine::abandon() {
  aborted = true;
  switchTo(&main);
  __builtin_unreachable();
}

void Machine::trap(uint32_t pc) {
  find(KILN_SIM_TRAP, pc, current->id, 0, 0);
  abandon();
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

void Machine::barrier(uint32_t pc) {
  Lane &l = *current;
  Warp &w = warps[l.id / 32];
  const uint32_t bit = 1u << (l.id & 31);
  l.pc = pc;
  landRandomly(l);
  w.atBarrier |= bit;
  if (++arrived < alive)
    return wait();
  releaseBarrier();
  w.ready &= ~bit;
}

void Machine::releaseBarrier() {
  if (alive < threads) {
    unsigned ended = 0;
    while (warps[ended / 32].alive >> (ended & 31) & 1)
      ++ended;
    unsigned waiting = current->id;
    for (unsigned w = 0; w < warpCount; ++w)
      if (warps[w].atBarrier)
        waiting = w * 32 + std::countr_zero(warps[w].atBarrier);
    find(KILN_SIM_PARTIAL_BARRIER, lanes[waiting].pc, waiting, 0, 0, ended);
  }
  for (unsigned w = 0; w < warpCount; ++w)
    flush(w);
  blockSync = clock++;
  arrived = 0;
  ++counts.barriers;
  memcpy(voted, votes, sizeof voted);
  votes[kBarrierAnd] = 1;
  votes[kBarrierOr] = votes[kBarrierCount] = 0;
  shuffleOrder();
  for (unsigned w = 0; w < warpCount; ++w) {
    warps[w].atBarrier = 0;
    wake(warps[w], warps[w].alive);
  }
}

void Machine::meet(WarpOp op, unsigned mask, void *args, uint32_t pc) {
  Lane &l = *current;
  const unsigned wi = l.id / 32;
  const uint32_t bit = 1u << (l.id & 31);
  Warp &w = warps[wi];
  w.args[l.id & 31] = args;
  l.pc = pc;
  // Going on with a mended mask would only make deadlocks that mean nothing.
  if (!(mask & bit)) {
    find(KILN_SIM_MASK_WITHOUT_CALLER, pc, l.id, mask, 0, -1, 0, unsigned(op) + 1);
    abandon();
  }
  if (const uint32_t ended = mask & ~w.alive) {
    find(KILN_SIM_MASK_WITH_ENDED_LANE, pc, l.id, mask, 0, wi * 32 + std::countr_zero(ended), 0,
         unsigned(op) + 1);
    abandon();
  }
  unsigned i = 0; // Nearly always the first.
  while (i < w.calls && (w.call[i].op != op || w.call[i].mask != mask))
    ++i;
  if (i == w.calls)
    w.call[w.calls++] = {op, mask, 0};
  if ((w.call[i].here |= bit) != mask)
    return wait();
  w.call[i] = w.call[--w.calls];
  execute(wi, op, mask);
  wake(w, mask & ~bit);
}

/// Lanes that synchronise see what the others of the mask did before. A mask of
/// part of the warp orders pairs; that is not carried on to third lanes.
void Machine::syncwarp(unsigned warpIndex, uint32_t mask) {
  Warp &w = warps[warpIndex];
  flush(warpIndex);
  if ((mask & w.alive) == w.alive) {
    w.synced = clock++;
    return;
  }
  if (!w.pairs)
    w.pairs = std::make_unique<uint32_t[]>(32 * 32);
  if (!w.partial)
    memset(w.pairs.get(), 0, 32 * 32 * sizeof(uint32_t));
  w.partial = true;
  for (uint32_t a = mask; a; a &= a - 1)
    for (uint32_t b = mask; b; b &= b - 1)
      w.pairs[std::countr_zero(a) * 32 + std::countr_zero(b)] = clock;
  ++clock;
}

bool Machine::isOrdered(uint32_t time, unsigned a, unsigned b) const {
  if (time <= blockSync)
    return true;
  if (a / 32 != b / 32)
    return false;
  const Warp &w = warps[a / 32];
  return time <= w.synced || (w.partial && time <= w.pairs[(a & 31) * 32 + (b & 31)]);
}

} // namespace kiln::cudasim
