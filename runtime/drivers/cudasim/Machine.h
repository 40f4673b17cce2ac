//===- Machine.h - One simulated multiprocessor -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Machine runs one block at a time, each of its threads a fibre. There is one a
// host thread; it owns that thread's copy of the module, whose static variables
// are the block's shared memory.
//
// Time is a counter that every barrier and every __syncwarp advances. An access
// at time t is ordered before now if a barrier came after it, or a __syncwarp of
// both threads' warp. Nothing is cleared between blocks: what is older than the
// block's start was not written.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_MACHINE_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_MACHINE_H

#include "DeviceMemory.h"
#include "Fibre.h"
#include "KilnSim.h"
#include "Launch.h"
#include "kiln/cudasim/Hooks.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kiln::cudasim {

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / 32;
/// Accesses that a thread may make before its warp's are judged.
constexpr unsigned kLogCapacity = 256;
constexpr unsigned kMaxDynamicShared = 256 << 10;
/// The time of a write that an asynchronous copy has yet to make.
constexpr uint32_t kInFlight = ~0u;

/// Branch: the thread comes to a block of code that a conditional branch leads to.
enum class AccessKind : uint8_t { Read, Write, Atomic, AsyncIssue, AsyncLand, Branch };
enum class Space : uint8_t { Global, Shared, Code };
enum class WarpOp : uint8_t {
  Syncwarp,
  Shuffle,
  Vote,
  Reduce,
  Ldmatrix,
  LdmatrixTrans,
  Mma,
  Collective
};

/// One access of one thread; they are judged and counted a warp at a time.
struct Access {
  uint64_t pc : 32, bytes : 16, kind : 8, space : 8;
  uint64_t address;
};

struct AsyncCopy {
  void *to;
  const void *from;
  int size, bytes; // Zeros fill up.
  unsigned group;
  bool landed;
  uint32_t pc;
};

struct Lane {
  void *stack = nullptr; // Where it stopped.
  WatchedStack watched;
  uint32_t pc = 0; // Of its last meeting.
  unsigned index[3] = {}, id = 0, logged = 0, groups = 0;
  Access *log = nullptr;
  std::vector<AsyncCopy> copies;
};

/// Lanes of a warp that wait for the rest of `mask`.
struct Call {
  WarpOp op;
  uint32_t mask, here;
};

struct Warp {
  uint32_t ready, alive, atBarrier, logFull, rotate; // Masks of lanes; rotate: where to begin.
  uint32_t synced;                                   // Time of the last whole __syncwarp.
  bool partial;                                      // `pairs` holds times of this block.
  unsigned calls;
  Call call[32];
  void *args[32], *values[32];
  std::unique_ptr<uint32_t[]> pairs; // [a * 32 + b]: last __syncwarp of both, some lanes' only.
};

/// Shadow of four bytes of shared memory; `...Bytes` say which of the four, so
/// that neighbouring elements of 1 and 2 bytes are no race.
struct Cell {
  uint32_t wrote, read;     // Times.
  uint32_t writePc, readPc; // Places.
  uint16_t writer : 11, atomic : 1, written : 4;
  uint16_t reader : 11, readBytes : 4;
  uint16_t other : 11, otherBytes : 4; // A reader of another warp in the same interval.
  uint16_t writerBytes : 4;
};

class Machine {
public:
  explicit Machine(DeviceMemory &memory);
  ~Machine();
  bool isValid() const { return stacks.isValid() && dynamicShared != 0; }

  /// Prepares for blocks of one launch; `copy` is this machine's own.
  void begin(const Launch &launch, const ModuleCopy &copy, const LaunchOptions &options);
  /// False where the launch must end.
  bool runBlock(uint64_t block);
  /// Hands over what `begin` started to gather.
  LaunchResult finish();

  // What hooks call.
  void barrier(uint32_t pc);
  void meet(WarpOp op, unsigned mask, void *args, uint32_t pc);
  /// False where the access must not be made.
  bool record(uintptr_t address, unsigned bytes, AccessKind kind, uintptr_t returnAddress);
  /// A block of code with so many operations: ten bits a unit, the highest bit for
  /// one that a conditional branch leads to.
  void runCode(uint64_t operations, uintptr_t returnAddress);
  void issueCopy(void *to, const void *from, int size, int bytes, uintptr_t returnAddress);
  void waitForCopies(unsigned groups, uintptr_t returnAddress);
  [[noreturn]] void trap(uint32_t pc);
  void find(kiln_sim_finding_kind kind, uint32_t pc, int thread, uint64_t address, unsigned bytes,
            int other = -1, uint32_t otherPc = 0, unsigned detail = 0);
  /// The other party is a block, of which no thread is known.
  void findBlock(uint32_t pc, int thread, uint64_t address, unsigned bytes, uint64_t otherBlock,
                 uint32_t otherPc);
  uint32_t place(uintptr_t returnAddress) const { return returnAddress - copy->base; }
  uint64_t random() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }

  void setValue(void *value) { warps[current->id / 32].values[current->id & 31] = value; }
  uint64_t cycles() const { return clock; }

  Lane *current = nullptr;
  unsigned index[12] = {}; // [0..2] unused: they are the lane's.
  uintptr_t dynamicShared = 0;
  Counts counts;
  // Votes of a barrier: gathered, and the last barrier's.
  int votes[3], voted[3];

private:
  friend struct WarpModel;
  static void enter();
  void endOfThread();
  Lane *pick();
  bool flushFullLogs();
  void reportDeadlock();
  void switchTo(Lane *to);
  void wait() { switchTo(pick()); }
  void wake(Warp &warp, uint32_t lanes) {
    warp.ready |= lanes;
    warp.rotate = random() & 31;
  }
  void releaseBarrier();
  void shuffleOrder();
  void execute(unsigned warp, WarpOp op, uint32_t mask);
  void syncwarp(unsigned warp, uint32_t mask);
  [[noreturn]] void abandon();
  enum class Verdict { Log, Ignore, Refuse };
  void append(const Access &access);
  Verdict judge(uintptr_t address, unsigned bytes, AccessKind kind, uint32_t pc, Space &space);
  void land(AsyncCopy &copy);
  void landRandomly(Lane &lane);

  // Shadow.cpp, Count.cpp.
  void flush(unsigned warp);
  void shadowShared(const Access &x, unsigned thread);
  void shadowGlobal(const Access &x, unsigned thread);
  void shadowBlocks(const Access &x, unsigned thread);
  void noteRead(Cell &cell, unsigned thread, unsigned bytes, uint32_t pc);
  bool isOrdered(uint32_t time, unsigned a, unsigned b) const;
  void countWarpOperation(const Access *const *accesses, const uint8_t *lanes, unsigned count);

  DeviceMemory &memory;
  FibreStacks stacks;
  Lane lanes[kMaxThreads], main;
  Warp warps[kMaxWarps];
  std::vector<Access> logs;
  std::vector<Cell> cells;

  const Launch *launch = nullptr;
  const ModuleCopy *copy = nullptr;
  LaunchOptions options;
  size_t dynamicBytes = 0, staticBytes = 0;
  uintptr_t staticShared = 0;
  unsigned threads = 0, warpCount = 0, warp = 0, order[kMaxWarps] = {}, arrived = 0, alive = 0;
  uint64_t block = 0;
  uint32_t clock = 1, blockStart = 0, blockSync = 0;
  uint64_t state = 1;
  bool aborted = false;
  LaunchResult result;
  std::pair<uint64_t, Site *> siteCache[1024];
  /// Blocks with atomics in device memory so far.
  std::unordered_set<uint32_t> synchronised;
};

/// The machine of this host thread while it runs blocks.
extern thread_local Machine *machine __attribute__((tls_model("initial-exec")));

const char *nameOf(WarpOp op);

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_MACHINE_H
