//===- ExecutorTest.cpp - Every chunk once, in whatever company -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Executor.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

using namespace kiln::rt;

namespace {

struct ExecutorDeleter {
  void operator()(kiln_executor *executor) const {
    EXPECT_EQ(kiln_executor_destroy(executor), KILN_OK);
  }
};
using ExecutorHandle = std::unique_ptr<kiln_executor, ExecutorDeleter>;

ExecutorHandle makeExecutor(uint32_t threads, uint32_t spin = 0) {
  kiln_executor_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  options.spin_us = spin;
  kiln_executor *executor = nullptr;
  EXPECT_EQ(Executor::create(&options, &executor), KILN_OK);
  return ExecutorHandle(executor);
}

/// Adds its arguments up in plain memory: a unit that is done twice or never,
/// or two threads on one scratch slot, show in the sum.
struct Work {
  std::vector<uint64_t> counts;
  uint64_t value = 1;

  static void kernel(const void *args, int64_t begin, int64_t end, void *scratch) {
    auto *work = const_cast<Work *>(*static_cast<Work *const *>(args));
    auto *slot = static_cast<uint64_t *>(scratch);
    for (int64_t i = begin; i != end; ++i) {
      *slot = uint64_t(i);
      work->counts[size_t(i)] += work->value;
      if (*slot != uint64_t(i))
        work->counts[size_t(i)] = UINT64_MAX / 2;
    }
  }
};

class Team {
public:
  explicit Team(kiln_executor *executor)
      : executor(executor), scratch(size_t(executor->api->slots(executor)) * stride) {}

  /// `phases` launches over all units.
  void run(Work &work, uint32_t phases, uint32_t chunks) {
    kiln_executor_turn turn = executor->api->begin(executor, &history);
    teamRuns += turn == KILN_EXECUTOR_TEAM;
    Work *args = &work;
    for (uint32_t phase = 0; phase != phases; ++phase) {
      kiln_executor_launch launch = {};
      launch.kernel = Work::kernel;
      launch.args = &args;
      launch.extent = int64_t(work.counts.size());
      launch.chunks = chunks;
      launch.scratch = scratch.data();
      launch.scratch_stride = stride;
      if (turn == KILN_EXECUTOR_TEAM)
        executor->api->launch(executor, &launch);
      else
        Work::kernel(&args, 0, launch.extent, scratch.data());
    }
    executor->api->end(executor, &history);
  }

  uint64_t teamRuns = 0;

private:
  static constexpr size_t stride = 128;
  kiln_executor *executor;
  kiln_executor_history history = {};
  std::vector<uint8_t> scratch;
};

} // namespace

TEST(Executor, DoesEveryUnitOnce) {
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    ExecutorHandle executor = makeExecutor(threads);
    EXPECT_EQ(kiln_executor_threads(executor.get()), threads);
    for (int64_t extent : {0, 1, 5, 16, 17, 1000}) {
      for (uint32_t chunks : {1u, 2u, 7u, 16u}) {
        Team team(executor.get());
        Work work;
        work.counts.assign(size_t(extent), 0);
        team.run(work, 5, chunks);
        for (uint64_t count : work.counts)
          ASSERT_EQ(count, 5u) << threads << " threads, " << extent << " in " << chunks;
      }
    }
  }
}

TEST(Executor, SurvivesManyRuns) {
  for (uint32_t threads : {2u, 4u}) {
    ExecutorHandle executor = makeExecutor(threads);
    Team team(executor.get());
    Work work;
    work.counts.assign(64, 0);
    constexpr uint32_t runs = 3000, phases = 10;
    for (uint32_t run = 0; run != runs; ++run)
      team.run(work, phases, 1 + run % 16);
    for (uint64_t count : work.counts)
      ASSERT_EQ(count, uint64_t(runs) * phases);
  }
}

TEST(Executor, WorkersThatSleptComeBack) {
  ExecutorHandle executor = makeExecutor(3, /*spin=*/1);
  Team team(executor.get());
  Work work;
  work.counts.assign(32, 0);
  for (int run = 0; run != 30; ++run) {
    team.run(work, 3, 16);
    std::this_thread::sleep_for(std::chrono::milliseconds(run % 3));
  }
  for (uint64_t count : work.counts)
    EXPECT_EQ(count, 90u);
}

TEST(Executor, TwoCallersShareIt) {
  ExecutorHandle executor = makeExecutor(3);
  constexpr uint32_t callers = 4, runs = 1500;
  std::vector<std::thread> threads;
  std::atomic<uint32_t> wrong{0};
  for (uint32_t caller = 0; caller != callers; ++caller)
    threads.emplace_back([&, caller] {
      Team team(executor.get());
      Work work;
      work.counts.assign(48, 0);
      work.value = caller + 1;
      for (uint32_t run = 0; run != runs; ++run)
        team.run(work, 4, 16);
      for (uint64_t count : work.counts)
        wrong += count != uint64_t(runs) * 4 * (caller + 1);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(Executor, StartsAndStopsAgainAndAgain) {
  for (int i = 0; i != 200; ++i) {
    ExecutorHandle executor = makeExecutor(2 + uint32_t(i) % 3);
    Team team(executor.get());
    Work work;
    work.counts.assign(16, 0);
    if (i % 4)
      team.run(work, 2, 8);
  }
}

TEST(Executor, UsesTheHostsLoop) {
  struct Host {
    uint32_t calls = 0;
    static void loop(void *user, uint32_t count, void (*body)(void *, uint32_t), void *context) {
      static_cast<Host *>(user)->calls++;
      for (uint32_t i = count; i-- > 0;)
        body(context, i);
    }
  } host;
  kiln_executor_options options = {};
  options.struct_size = sizeof options;
  options.parallel_for = Host::loop;
  options.parallel_for_user = &host;
  kiln_executor *executor = nullptr;
  ASSERT_EQ(Executor::create(&options, &executor), KILN_OK);
  ExecutorHandle handle(executor);
  Team team(executor);
  Work work;
  work.counts.assign(100, 0);
  team.run(work, 3, 16);
  team.run(work, 1, 1);
  for (uint64_t count : work.counts)
    EXPECT_EQ(count, 4u);
  EXPECT_EQ(host.calls, 3u);
}

TEST(Executor, RefusesAbsurdOptions) {
  kiln_executor_options options = {};
  char reason[128] = "";
  options.struct_size = sizeof options;
  options.error = reason;
  options.error_size = sizeof reason;
  options.threads = uint32_t(-1);
  kiln_executor *executor = nullptr;
  EXPECT_EQ(Executor::create(&options, &executor), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(reason, "threads: expected 0 to 4096, got 4294967295");
  options.threads = 2;
  options.spin_us = 1000000;
  EXPECT_EQ(Executor::create(&options, &executor), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(executor, nullptr);
  EXPECT_EQ(Executor::create(&options, nullptr), KILN_INVALID_ARGUMENT);
  options.struct_size = 1;
  EXPECT_EQ(Executor::create(&options, &executor), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_executor_destroy(nullptr), KILN_OK);
}

TEST(Executor, CountsMoreThreadsAsSixteen) {
  ExecutorHandle many = makeExecutor(1000);
  EXPECT_EQ(kiln_executor_threads(many.get()), 16u);
  ExecutorHandle all = makeExecutor(0);
  EXPECT_GE(kiln_executor_threads(all.get()), 1u);
}

TEST(Executor, IsNotDestroyedInUse) {
  ExecutorHandle executor = makeExecutor(2);
  executor->api->retain(executor.get());
  EXPECT_EQ(kiln_executor_destroy(executor.get()), KILN_BUSY);
  executor->api->release(executor.get());
}

TEST(CpuList, TakesWhatTheKernelWrites) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  std::string mine = std::to_string(first);
  CpuList list;
  for (const std::string &good :
       {std::string(), mine, mine + "\n", mine + "-" + mine, std::string("0-1023"), "1023," + mine})
    EXPECT_TRUE(list.parse(good.c_str())) << good;
  EXPECT_TRUE(list.parse(nullptr));
  for (const char *bad : {"-", "0-", "1-0", "x", "0,", ",0", "0 ", "0\n\n", "1024", "99999999999",
                          "0x1", "0--1", "\n", "1023"})
    EXPECT_FALSE(list.parse(bad)) << bad;
  std::thread([&] {
    ASSERT_TRUE(list.parse(mine.c_str()));
    list.pin(7);
    EXPECT_EQ(sched_getcpu(), first);
    // What it may use is this one now.
    EXPECT_FALSE(list.parse(first ? "0" : "1"));
  }).join();
}

TEST(Executor, WorkersStayOnTheCpusThatAreNamed) {
  kiln_executor_options options = {};
  options.struct_size = sizeof options;
  options.threads = 4;
  options.cpus = "nonsense";
  char reason[128] = "";
  options.error = reason;
  options.error_size = sizeof reason;
  kiln_executor *executor = nullptr;
  EXPECT_EQ(kiln::rt::Executor::create(&options, &executor), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(reason, "cpus: 'nonsense' is no list of CPUs that may be used");
  options.cpus = "0-1023";
  ASSERT_EQ(kiln::rt::Executor::create(&options, &executor), KILN_OK) << reason;
  EXPECT_EQ(kiln_executor_destroy(executor), KILN_OK);
}
