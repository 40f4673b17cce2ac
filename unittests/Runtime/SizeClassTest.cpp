//===- SizeClassTest.cpp - Classes, and the ring of freed blocks ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Recycler.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

using namespace kiln::rt;

TEST(SizeClass, HoldsEverySizeAndWastesAnEighth) {
  for (uint32_t i = 0; i != kNumClasses; ++i) {
    EXPECT_EQ(classOf(classBytes(i)), i);
    EXPECT_EQ(classBytes(i) % kAlignment, 0u);
  }
  for (uint64_t bytes = 0; bytes <= (1 << 20); ++bytes) {
    uint64_t size = classBytes(classOf(bytes));
    ASSERT_GE(size, bytes);
    uint64_t padded = alignUp(std::max<uint64_t>(bytes, 1), kAlignment);
    ASSERT_LE(size - padded, padded / 8) << bytes;
  }
}

TEST(SizeClass, PowersOfTwoAreClassesOfTheirOwn) {
  for (uint64_t bytes = kAlignment; bytes <= kLargestClass; bytes *= 2)
    EXPECT_EQ(classBytes(classOf(bytes)), bytes);
}

TEST(Recycler, GivesEveryBlockOnce) {
  auto recycler = std::make_unique<Recycler>();
  alignas(64) static uint8_t blocks[4][64];
  std::atomic<int> owners[4] = {};
  for (auto &block : blocks)
    ASSERT_TRUE(recycler->put(3, block));
  EXPECT_EQ(recycler->take(2), nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i != 100000; ++i) {
        auto *block = static_cast<uint8_t *>(recycler->take(3));
        if (!block)
          continue;
        int index = int((block - blocks[0]) / 64);
        EXPECT_EQ(owners[index].fetch_add(1), 0);
        owners[index].fetch_sub(1);
        EXPECT_TRUE(recycler->put(3, block));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(recycler->bytes(), 4 * classBytes(3));
}
