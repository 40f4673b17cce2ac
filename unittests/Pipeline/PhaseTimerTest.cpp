//===- PhaseTimerTest.cpp - Where the time of a compilation goes ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/PhaseTimer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <thread>

using namespace kiln;

TEST(PhaseTimer, NestsScopes) {
  PhaseTimer timer;
  {
    PhaseTimer::Scope outer(timer, "outer");
    {
      PhaseTimer::Scope inner(timer, "inner");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      timer.annotate("3 of them");
    }
    PhaseTimer::Scope second(timer, "second");
  }
  PhaseTimer::Scope next(timer, "next");
  ASSERT_EQ(timer.entries().size(), 4u);
  EXPECT_EQ(timer.entries()[0].name, "outer");
  EXPECT_EQ(timer.entries()[1].name, "inner (3 of them)");
  EXPECT_EQ(timer.entries()[1].depth, 1u);
  EXPECT_EQ(timer.entries()[2].depth, 1u);
  EXPECT_EQ(timer.entries()[3].depth, 0u);
  EXPECT_GE(timer.entries()[1].milliseconds, 5);
  EXPECT_GE(timer.entries()[0].milliseconds, timer.entries()[1].milliseconds);
}

TEST(PhaseTimer, PrintsSharesOfTheWhole) {
  PhaseTimer timer;
  {
    PhaseTimer::Scope scope(timer, "work");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  timer.print(os);
  EXPECT_NE(text.find("  work\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 100.0  total\n"), std::string::npos) << text;
}
