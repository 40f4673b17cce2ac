//===- RunMemoryTest.cpp - Memory that a run asks for while it goes -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunMemory.h"
#include "Pool.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace kiln::rt;

namespace {

class RunMemoryTest : public testing::Test {
protected:
  RunMemoryTest() {
    kiln_pool_options options = {};
    options.struct_size = sizeof options;
    EXPECT_EQ(Pool::create(&options, &pool), KILN_OK);
    memory = new RunMemory();
    EXPECT_TRUE(memory->create(pool));
  }
  ~RunMemoryTest() override {
    delete memory;
    EXPECT_EQ(kiln_pool_destroy(pool), KILN_OK);
  }

  void *fill(char with) {
    void *block = memory->allocate(100);
    std::memset(block, with, 100);
    return block;
  }

  kiln_pool *pool = nullptr;
  RunMemory *memory = nullptr;
};

TEST_F(RunMemoryTest, ReleasesWhatIsNewerThanAMark) {
  fill('a');
  void *mark = memory->mark();
  fill('b');
  fill('c');
  memory->releaseSince(mark, nullptr, 0);
  EXPECT_EQ(memory->mark(), mark);
}

TEST_F(RunMemoryTest, KeepsWhatIsHandedOn) {
  void *mark = memory->mark();
  auto *kept = static_cast<char *>(fill('b'));
  fill('c');
  int elsewhere;
  void *keep[] = {&elsewhere, kept, nullptr};
  memory->releaseSince(mark, keep, 3);
  EXPECT_EQ(memory->mark(), kept);
  EXPECT_EQ(kept[99], 'b');
  // It is kept once more, and then not.
  fill('d');
  memory->releaseSince(mark, keep, 3);
  EXPECT_EQ(kept[0], 'b');
  memory->releaseSince(mark, nullptr, 0);
  EXPECT_EQ(memory->mark(), mark);
}

TEST_F(RunMemoryTest, MarksOfLoopsInLoops) {
  void *outer = memory->mark();
  fill('a');
  void *inner = memory->mark();
  fill('b');
  void *kept = fill('c');
  memory->releaseSince(inner, &kept, 1);
  EXPECT_EQ(memory->mark(), kept);
  memory->releaseSince(outer, nullptr, 0);
  EXPECT_EQ(memory->mark(), outer);
}

} // namespace
