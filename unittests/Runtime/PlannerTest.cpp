//===- PlannerTest.cpp - Buffers that live together never overlap ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Planner.h"
#include "PlanTable.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace kiln::rt;

namespace {

struct Problem {
  std::vector<kiln_module_buffer> buffers;
  std::vector<uint64_t> sizes;
};

Problem randomProblem(uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Problem problem;
  for (uint32_t i = 0; i != count; ++i) {
    uint32_t life = random() % 10 < 8 ? 1 + random() % 2 : 2 + random() % 20;
    problem.buffers.push_back({i, i + life});
    problem.sizes.push_back(random() % 20 == 0 ? 0 : random() % 100000);
  }
  return problem;
}

bool liveTogether(const kiln_module_buffer &a, const kiln_module_buffer &b) {
  return a.first <= b.last && b.first <= a.last;
}

uint64_t lowerBound(const Problem &problem) {
  uint64_t bound = 0;
  for (uint32_t time = 0; time != problem.buffers.size() + 32; ++time) {
    uint64_t live = 0;
    for (size_t i = 0; i != problem.sizes.size(); ++i)
      if (problem.buffers[i].first <= time && time <= problem.buffers[i].last)
        live += alignUp(problem.sizes[i], kAlignment);
    bound = std::max(bound, live);
  }
  return bound;
}

} // namespace

TEST(Planner, KeepsBuffersApart) {
  for (uint32_t seed = 0; seed != 40; ++seed) {
    Problem problem = randomProblem(1 + seed * 7, seed);
    auto count = uint32_t(problem.sizes.size());
    Planner planner;
    ASSERT_TRUE(planner.allocate(count));
    std::vector<uint64_t> offsets(count);
    uint64_t total;
    ASSERT_TRUE(
        planner.plan(problem.buffers.data(), problem.sizes.data(), count, offsets.data(), total));
    for (uint32_t i = 0; i != count; ++i) {
      EXPECT_EQ(offsets[i] % kAlignment, 0u);
      EXPECT_LE(offsets[i] + problem.sizes[i], total);
      for (uint32_t j = 0; j != i; ++j) {
        bool apart = offsets[i] + problem.sizes[i] <= offsets[j] ||
                     offsets[j] + problem.sizes[j] <= offsets[i];
        EXPECT_TRUE(apart || !problem.sizes[i] || !problem.sizes[j] ||
                    !liveTogether(problem.buffers[i], problem.buffers[j]));
      }
    }
    EXPECT_GE(total, lowerBound(problem));
    EXPECT_LE(double(total), 1.25 * double(lowerBound(problem)) + 64);
  }
}

TEST(Planner, IsDeterministicAndRefusesNonsense) {
  Problem problem = randomProblem(100, 3);
  Planner planner;
  ASSERT_TRUE(planner.allocate(100));
  std::vector<uint64_t> first(100), second(100);
  uint64_t total;
  ASSERT_TRUE(planner.plan(problem.buffers.data(), problem.sizes.data(), 100, first.data(), total));
  ASSERT_TRUE(
      planner.plan(problem.buffers.data(), problem.sizes.data(), 100, second.data(), total));
  EXPECT_EQ(first, second);
  problem.sizes[5] = UINT64_MAX - 3;
  EXPECT_FALSE(
      planner.plan(problem.buffers.data(), problem.sizes.data(), 100, first.data(), total));
}

TEST(Planner, TakesNoBuffers) {
  Planner planner;
  ASSERT_TRUE(planner.allocate(0));
  uint64_t total = 1;
  EXPECT_TRUE(planner.plan(nullptr, nullptr, 0, nullptr, total));
  EXPECT_EQ(total, 0u);
}

TEST(PlanTable, KeepsTheLatestThirtyTwo) {
  PlanTable table;
  table.configure(1, 2, 1, 1, 0);
  for (int64_t key = 0; key != 40; ++key) {
    EXPECT_EQ(table.find(&key), nullptr);
    Plan *plan = table.claim();
    ASSERT_NE(plan, nullptr);
    plan->symbols[0] = key;
    plan->offsets[0] = uint64_t(key) * 64;
    table.publish(*plan);
    // Key 0 stays in use, so it stays.
    int64_t zero = 0;
    ASSERT_NE(table.find(&zero), nullptr);
  }
  for (int64_t key = 0; key != 40; ++key) {
    Plan *plan = table.find(&key);
    EXPECT_EQ(plan != nullptr, key == 0 || key > 8) << key;
    if (plan) {
      EXPECT_EQ(plan->offsets[0], uint64_t(key) * 64);
    }
  }
}

TEST(PlanTable, UnpublishedPlansAreNotFound) {
  PlanTable table;
  table.configure(1, 1, 0, 0, 0);
  Plan *plan = table.claim();
  ASSERT_NE(plan, nullptr);
  int64_t zero = 0;
  EXPECT_EQ(table.find(&zero), nullptr);
}
