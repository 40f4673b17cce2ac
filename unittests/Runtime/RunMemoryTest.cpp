//===- RunMemoryTest.cpp - Memory that a run asks for while it goes -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunMemory.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace kiln::rt;

namespace {

/// The sanitizers see a block that is released and used, or never released.
void *fill(RunMemory &memory, char with) {
  void *block = memory.allocate(100);
  std::memset(block, with, 100);
  return block;
}

TEST(RunMemory, ReleasesWhatIsNewerThanAMark) {
  RunMemory memory;
  fill(memory, 'a');
  void *mark = memory.mark();
  fill(memory, 'b');
  fill(memory, 'c');
  memory.releaseSince(mark, nullptr, 0);
  EXPECT_EQ(memory.mark(), mark);
}

TEST(RunMemory, KeepsWhatIsHandedOn) {
  RunMemory memory;
  void *mark = memory.mark();
  auto *kept = static_cast<char *>(fill(memory, 'b'));
  fill(memory, 'c');
  int elsewhere;
  void *keep[] = {&elsewhere, kept, nullptr};
  memory.releaseSince(mark, keep, 3);
  EXPECT_EQ(kept[99], 'b');
  // One that is kept once more, and then not.
  fill(memory, 'd');
  memory.releaseSince(mark, keep, 3);
  EXPECT_EQ(kept[0], 'b');
  memory.releaseSince(mark, nullptr, 0);
  EXPECT_EQ(memory.mark(), mark);
}

TEST(RunMemory, MarksOfLoopsInLoops) {
  RunMemory memory;
  void *outer = memory.mark();
  fill(memory, 'a');
  void *inner = memory.mark();
  fill(memory, 'b');
  void *kept = fill(memory, 'c');
  memory.releaseSince(inner, &kept, 1);
  memory.releaseSince(outer, nullptr, 0);
  EXPECT_EQ(memory.mark(), outer);
}

} // namespace
