//===- Shadow.cpp - Who wrote and who read what ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>

namespace kiln::cudasim {

void Machine::find(kiln_sim_finding_kind kind, uint32_t pc, int thread, uint64_t address,
                   unsigned bytes, int other, uint32_t otherPc, unsigned detail) {
  const uint64_t key = uint64_t(kind) << 32 | pc;
  auto [it, fresh] = result.findings.try_emplace(key);
  if (fresh)
    it->second = {kind, pc, otherPc, block, block, thread, other, address, bytes, detail, 0};
  ++it->second.count;
}

/// Remembers the last reader, and one of another warp in the same interval.
void Machine::noteRead(Cell &c, unsigned t, unsigned bytes, uint32_t pc) {
  if (c.read <= blockSync) {
    c.otherBytes = c.readBytes = 0;
  } else if ((c.reader ^ t) > 31) {
    c.other = c.reader;
    c.otherBytes = c.readBytes;
    c.readBytes = 0;
  } else if (c.reader != t) {
    c.readBytes = 0;
  }
  c.read = clock;
  c.reader = t;
  c.readPc = pc;
  c.readBytes |= bytes;
}

void Machine::shadowShared(const Access &x, unsigned t) {
  const uintptr_t at = x.address - dynamicShared < kMaxDynamicShared
                           ? x.address - dynamicShared + (staticBytes + 3) / 4 * 4
                           : x.address - staticShared;
  const auto kind = AccessKind(x.kind);
  const unsigned first = at / 4, last = (at + x.bytes - 1) / 4;
  for (unsigned i = first; i <= last; ++i) {
    Cell &c = cells[i];
    if (kind == AccessKind::Read && c.written == 15 && c.wrote > blockStart &&
        c.wrote <= blockSync && x.bytes >= 4) { // Nearly always.
      noteRead(c, t, 15, x.pc);
      continue;
    }
    const unsigned low = i == first ? at & 3 : 0;
    const unsigned high = i == last ? (at + x.bytes - 1) & 3 : 3;
    const unsigned bytes = (15u >> (3 - high)) & (15u << low);
    // What is left of an earlier block.
    if (c.wrote <= blockStart) {
      c.wrote = 0;
      c.written = c.writerBytes = c.atomic = 0;
    }
    if (c.read <= blockStart)
      c.read = c.readBytes = c.otherBytes = 0;
    if (kind == AccessKind::AsyncLand) {
      c.wrote = clock;
      continue;
    }
    const uint64_t address = x.address;
    const bool overlaps = (c.writerBytes & bytes) != 0;
    if (c.wrote == kInFlight && overlaps)
      find(KILN_SIM_ASYNC_IN_FLIGHT, x.pc, t, address, x.bytes, c.writer, c.writePc);
    else if (c.wrote && overlaps && c.writer != t && !(kind == AccessKind::Atomic && c.atomic) &&
             !isOrdered(c.wrote, c.writer, t))
      find(kind == AccessKind::Read ? KILN_SIM_RACE_READ_AFTER_WRITE
                                    : KILN_SIM_RACE_WRITE_AFTER_WRITE,
           x.pc, t, address, x.bytes, c.writer, c.writePc);
    if (kind == AccessKind::Read) {
      if ((c.written & bytes) != bytes)
        find(KILN_SIM_UNWRITTEN_SHARED_READ, x.pc, t, address, x.bytes);
      noteRead(c, t, bytes, x.pc);
      continue;
    }
    if ((c.readBytes & bytes) && c.read > blockStart && c.reader != t &&
        !isOrdered(c.read, c.reader, t))
      find(KILN_SIM_RACE_WRITE_AFTER_READ, x.pc, t, address, x.bytes, c.reader, c.readPc);
    else if ((c.otherBytes & bytes) && c.read > blockSync && c.other != t)
      find(KILN_SIM_RACE_WRITE_AFTER_READ, x.pc, t, address, x.bytes, c.other);
    if (kind == AccessKind::Atomic && (c.written & bytes) != bytes)
      find(KILN_SIM_UNWRITTEN_SHARED_READ, x.pc, t, address, x.bytes);
    c.writerBytes = c.writer == t && c.wrote > blockSync ? c.writerBytes | bytes : bytes;
    c.wrote = kind == AccessKind::AsyncIssue ? kInFlight : clock;
    c.writer = t;
    c.writePc = x.pc;
    c.written |= bytes;
    c.atomic = kind == AccessKind::Atomic;
  }
}

void Machine::findBlock(uint32_t pc, int thread, uint64_t address, unsigned bytes,
                        uint64_t otherBlock, uint32_t otherPc) {
  find(KILN_SIM_RACE_BETWEEN_BLOCKS, pc, thread, address, bytes, -1, otherPc);
  RawFinding &found = result.findings[uint64_t(KILN_SIM_RACE_BETWEEN_BLOCKS) << 32 | pc];
  if (found.count == 1)
    found.otherBlock = otherBlock;
}

/// Blocks of a launch have no order. Two that both use atomics are taken to have made
/// one of their own, as those do of which the last adds up what the others left.
void Machine::shadowBlocks(const Access &x, unsigned t) {
  const auto kind = AccessKind(x.kind);
  const uint32_t me = uint32_t(block) + 1;
  if (kind == AccessKind::Atomic)
    synchronised.insert(me);
  auto races = [&](uint32_t other) {
    return other != me && !(synchronised.count(me) && synchronised.count(other));
  };
  const uintptr_t last = x.address + x.bytes - 1;
  for (uintptr_t at = x.address & ~uintptr_t(3); at <= last; at += 4) {
    BlockCell &c = memory.cell(at);
    const unsigned low = at < x.address ? x.address & 3 : 0, high = last - at < 4 ? last - at : 3;
    const unsigned bytes = (15u >> (3 - high)) & (15u << low);
    if (c.writer && c.writerBytes & bytes && !(kind == AccessKind::Atomic && c.atomic) &&
        races(c.writer))
      findBlock(x.pc, t, x.address, x.bytes, c.writer - 1, c.writerPc);
    if (kind == AccessKind::Read) {
      if (!c.reader || c.reader == me) {
        c.reader = me;
        c.readerPc = x.pc;
        c.readerBytes |= bytes;
      } else {
        c.severalReaders = 1;
      }
      continue;
    }
    if (c.reader && c.readerBytes & bytes && races(c.reader))
      findBlock(x.pc, t, x.address, x.bytes, c.reader - 1, c.readerPc);
    else if (c.reader == me && c.severalReaders && !synchronised.count(me))
      findBlock(x.pc, t, x.address, x.bytes, block, 0);
    c.writerBytes = c.writer == me ? c.writerBytes | bytes : bytes;
    c.writer = me;
    c.writerPc = x.pc;
    c.atomic = kind == AccessKind::Atomic;
  }
}

void Machine::shadowGlobal(const Access &x, unsigned t) {
  const auto kind = AccessKind(x.kind);
  if (kind != AccessKind::Write) {
    memory.noteRead(x.address, x.bytes);
    if (!memory.isWritten(x.address, x.bytes))
      find(KILN_SIM_UNWRITTEN_READ, x.pc, t, x.address, x.bytes);
  }
  if (kind != AccessKind::Read)
    memory.noteWrite(x.address, x.bytes);
  if (options.betweenBlocks)
    shadowBlocks(x, t);
}

} // namespace kiln::cudasim
