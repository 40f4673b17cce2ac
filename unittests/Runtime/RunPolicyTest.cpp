//===- RunPolicyTest.cpp - When a run goes alone --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunPolicy.h"

#include <gtest/gtest.h>

using namespace kiln::rt;

namespace {

constexpr uint64_t kMs = 1000000;

/// Runs of fixed lengths on a clock of its own.
struct Simulation {
  kiln_executor_history history = {};
  uint64_t now = kMs;
  bool stall = false;
  uint64_t aloneRuns = 0, teamRuns = 0;

  void run(uint64_t teamTime, uint64_t aloneTime) {
    RunPolicy &policy = RunPolicy::of(history);
    bool clear;
    bool alone = policy.begin(now, clear);
    ++(alone ? aloneRuns : teamRuns);
    now += alone ? aloneTime : teamTime;
    policy.end(now, [&] { return stall; });
  }
};

} // namespace

TEST(RunPolicy, StaysWithTheTeamWithoutStalls) {
  Simulation simulation;
  for (int i = 0; i != 1000; ++i)
    simulation.run(kMs, kMs / 2);
  EXPECT_EQ(simulation.aloneRuns, 0u);
}

TEST(RunPolicy, GoesAloneWhereATeamLoses) {
  Simulation simulation;
  simulation.stall = true;
  for (int i = 0; i != 1000; ++i)
    simulation.run(2 * kMs, kMs);
  EXPECT_GT(simulation.aloneRuns, 8 * simulation.teamRuns);
}

TEST(RunPolicy, ReturnsToATeamThatWins) {
  Simulation simulation;
  simulation.stall = true;
  for (int i = 0; i != 1000; ++i)
    simulation.run(2 * kMs, kMs);
  simulation.teamRuns = simulation.aloneRuns = 0;
  for (int i = 0; i != 4000; ++i)
    simulation.run(kMs / 2, kMs);
  EXPECT_GT(simulation.teamRuns, 4 * simulation.aloneRuns);
}

TEST(RunPolicy, ShapesWithoutSharedWorkNeedNoTeam) {
  kiln_executor_history history = {};
  RunPolicy &policy = RunPolicy::of(history);
  EXPECT_FALSE(policy.neverShares());
  policy.noteLaunches(0);
  policy.noteLaunches(0);
  EXPECT_TRUE(policy.neverShares());
  bool askedAgain = false;
  for (int i = 0; i != 600; ++i)
    askedAgain |= !policy.neverShares();
  EXPECT_TRUE(askedAgain);
  policy.noteLaunches(3);
  EXPECT_FALSE(policy.neverShares());
}
