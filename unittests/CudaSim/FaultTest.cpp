//===- FaultTest.cpp - Each planted fault is found and named --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <csignal>
#include <fstream>
#include <sys/wait.h>

using namespace kiln::cuda;

namespace {

/// The line of Faults.cu that bears the mark.
std::string lineOf(const std::string &mark) {
  std::ifstream file(KILN_SIM_SOURCES "/Faults.cu");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const size_t at = line.find(mark);
    const size_t end = at + mark.size();
    if (at != std::string::npos && line.find("//") < at && (end == line.size() || line[end] == ','))
      return "Faults.cu:" + std::to_string(number);
  }
  ADD_FAILURE() << "no line bears \"" << mark << "\"";
  return "";
}

class FaultTest : public SimTest {
protected:
  static constexpr int kNone = -1, kAny = -2;

  /// The one finding of that kind; its kernel, line and parties are as said.
  kiln_sim_finding expect(kiln_sim_finding_kind kind, const char *kernel, int block, int thread,
                          int otherThread = kNone, bool otherLine = false) {
    kiln_sim_finding found = {};
    int count = 0;
    for (const kiln_sim_finding &f : findings())
      if (f.kind == kind) {
        found = f;
        ++count;
      }
    EXPECT_EQ(count, 1) << sim().report();
    if (!count)
      return found;
    EXPECT_STREQ(found.kernel, kernel);
    EXPECT_EQ(std::string(found.where).substr(0, std::string(found.where).find(' ')),
              lineOf(std::string("at ") + kernel))
        << found.text;
    auto agrees = [&](int expected, int got, const char *what) {
      if (expected == kAny)
        EXPECT_GE(got, 0) << what << ": " << found.text;
      else
        EXPECT_EQ(got, expected) << what << ": " << found.text;
    };
    agrees(block, int(found.block[0]), "block");
    agrees(thread, found.thread[0], "thread");
    agrees(otherThread, found.other_thread[0], "other thread");
    if (otherLine)
      EXPECT_EQ(found.other_where, lineOf(std::string("other ") + kernel)) << found.text;
    // The words say it all too.
    EXPECT_NE(std::string(found.text).find(kernel), std::string::npos);
    EXPECT_NE(std::string(found.text).find(found.where), std::string::npos);
    return found;
  }

  template <class... A>
  CUresult run(const char *kernel, unsigned grid, unsigned block, unsigned shared, A... arguments) {
    load("Faults");
    EXPECT_EQ(launch(kernel, {grid}, {block}, shared, arguments...), CUDA_SUCCESS);
    return synchronize();
  }
  CUdeviceptr filled(int count) { return upload(std::vector<float>(count, 1.0f)); }
};

TEST_F(FaultTest, readOutOfBounds) {
  CUdeviceptr in = filled(100);
  EXPECT_EQ(run("readOutOfBounds", 2, 64, 0, filled(128), in), CUDA_ERROR_ILLEGAL_ADDRESS);
  const kiln_sim_finding f = expect(KILN_SIM_READ_OUT_OF_BOUNDS, "readOutOfBounds", 1, kAny);
  EXPECT_GE(f.thread[0], 36);
  EXPECT_EQ(f.address, in + 4 * (64 + f.thread[0]));
  EXPECT_EQ(f.bytes, 4u);
  EXPECT_EQ(f.count, 28u);
}

TEST_F(FaultTest, writeOutOfBounds) {
  CUdeviceptr out = filled(127);
  EXPECT_EQ(run("writeOutOfBounds", 2, 64, 0, out), CUDA_ERROR_ILLEGAL_ADDRESS);
  const kiln_sim_finding f = expect(KILN_SIM_WRITE_OUT_OF_BOUNDS, "writeOutOfBounds", 1, 63);
  EXPECT_EQ(f.address, out + 4 * 127);
}

TEST_F(FaultTest, useAfterFree) {
  CUdeviceptr freed = filled(16);
  ASSERT_EQ(sim().driver.cuMemFree(freed), CUDA_SUCCESS);
  EXPECT_EQ(run("useAfterFree", 1, 32, 0, filled(1), freed), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(expect(KILN_SIM_USE_AFTER_FREE, "useAfterFree", 0, 5).address, freed + 12);
}

TEST_F(FaultTest, hostPointer) {
  const float host[2] = {1, 2};
  EXPECT_EQ(run("hostPointer", 1, 32, 0, filled(1), host), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(expect(KILN_SIM_HOST_POINTER, "hostPointer", 0, 2).address, uint64_t(host + 1));
}

TEST_F(FaultTest, nullPointerEndsTheLaunch) {
  EXPECT_EQ(run("hostPointer", 1, 32, 0, filled(1), static_cast<float *>(nullptr)),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(expect(KILN_SIM_HOST_POINTER, "hostPointer", 0, 2).address, 4u);
}

TEST_F(FaultTest, pastShared) {
  EXPECT_EQ(run("pastShared", 1, 64, 64 * 4, filled(64)), CUDA_ERROR_ILLEGAL_ADDRESS);
  const kiln_sim_finding f = expect(KILN_SIM_SHARED_OUT_OF_BOUNDS, "pastShared", 0, 63);
  EXPECT_EQ(f.address, 256u);
}

TEST_F(FaultTest, misaligned) {
  CUdeviceptr out = filled(16);
  EXPECT_EQ(run("misaligned", 1, 32, 0, out), CUDA_ERROR_MISALIGNED_ADDRESS);
  const kiln_sim_finding f = expect(KILN_SIM_MISALIGNED, "misaligned", 0, 4);
  EXPECT_EQ(f.address, out + 4);
  EXPECT_EQ(f.bytes, 16u);
}

TEST_F(FaultTest, unwrittenRead) {
  CUdeviceptr in = allocate(64 * 4);
  EXPECT_EQ(run("unwrittenRead", 1, 64, 0, filled(64), in), CUDA_SUCCESS);
  EXPECT_EQ(expect(KILN_SIM_UNWRITTEN_READ, "unwrittenRead", 0, kAny).count, 64u);
}

TEST_F(FaultTest, unwrittenShared) {
  EXPECT_EQ(run("unwrittenShared", 1, 64, 0, filled(64)), CUDA_SUCCESS);
  expect(KILN_SIM_UNWRITTEN_SHARED_READ, "unwrittenShared", 0, 9);
}

TEST_F(FaultTest, unwrittenOutput) {
  CUdeviceptr out = allocate(32 * 4);
  EXPECT_EQ(run("unwrittenOutput", 1, 32, 0, out), CUDA_SUCCESS);
  EXPECT_EQ(findings().size(), 0u);
  std::vector<float> got = download<float>(out, 32);
  EXPECT_NE(got[7], got[7]); // Poisoned.
  ASSERT_EQ(findings().size(), 1u);
  const kiln_sim_finding f = findings()[0];
  EXPECT_EQ(f.kind, KILN_SIM_UNWRITTEN_OUTPUT);
  EXPECT_STREQ(f.kernel, "unwrittenOutput");
  EXPECT_EQ(f.address, out + 28);
  EXPECT_EQ(f.bytes, 4u);
}

TEST_F(FaultTest, unwrittenOutputAfterPoison) {
  CUdeviceptr out = filled(32);
  EXPECT_EQ(sim().poison(out, 32 * 4), 0);
  EXPECT_EQ(run("unwrittenOutput", 1, 32, 0, out), CUDA_SUCCESS);
  EXPECT_EQ(sim().expectWritten(out, 32 * 4), 4u);
  EXPECT_EQ(findings().size(), 1u);
  EXPECT_EQ(sim().poison(out, 32 * 4 + 1), -1);
}

TEST_F(FaultTest, readAfterWrite) {
  // Found whichever of the two comes first; which it is changes with the seed.
  int readsLast = 0, writesLast = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    kiln_sim_options options = {};
    options.seed = seed;
    start(options);
    EXPECT_EQ(run("readAfterWrite", 1, 128, 0, filled(128)), CUDA_SUCCESS);
    int races = 0;
    for (const kiln_sim_finding &f : findings()) {
      const bool reads = f.kind == KILN_SIM_RACE_READ_AFTER_WRITE;
      if (!reads && f.kind != KILN_SIM_RACE_WRITE_AFTER_READ)
        continue;
      ++races;
      (reads ? readsLast : writesLast)++;
      EXPECT_STREQ(f.kernel, "readAfterWrite");
      EXPECT_EQ(f.where, lineOf(reads ? "at readAfterWrite" : "other readAfterWrite"));
      EXPECT_EQ(f.other_where, lineOf(reads ? "other readAfterWrite" : "at readAfterWrite"));
      EXPECT_EQ(f.other_thread[0], f.thread[0] + (reads ? 64 : -64)) << f.text;
    }
    EXPECT_GE(races, 1) << sim().report();
  }
  EXPECT_GT(readsLast, 0);
  EXPECT_GT(writesLast, 0);
}

TEST_F(FaultTest, writeAfterWrite) {
  EXPECT_EQ(run("writeAfterWrite", 1, 64, 0, filled(64)), CUDA_SUCCESS);
  const kiln_sim_finding f =
      expect(KILN_SIM_RACE_WRITE_AFTER_WRITE, "writeAfterWrite", 0, kAny, kAny, true);
  EXPECT_EQ(f.thread[0] + f.other_thread[0], 32);
}

TEST_F(FaultTest, writeAfterRead) {
  EXPECT_EQ(run("writeAfterRead", 1, 64, 0, filled(64)), CUDA_SUCCESS);
  const kiln_sim_finding f =
      expect(KILN_SIM_RACE_WRITE_AFTER_READ, "writeAfterRead", 0, kAny, kAny, true);
  EXPECT_EQ(f.thread[0] ^ f.other_thread[0], 32);
}

TEST_F(FaultTest, raceBetweenBlocks) {
  // Whichever of two blocks comes first: its neighbour's read or write is the fault.
  int readsLast = 0, writesLast = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    kiln_sim_options options = {};
    options.seed = seed;
    start(options);
    EXPECT_EQ(run("raceBetweenBlocks", 2, 32, 0, filled(64), filled(64)), CUDA_SUCCESS);
    ASSERT_EQ(findings().size(), 2u) << sim().report();
    for (const kiln_sim_finding &f : findings()) {
      EXPECT_EQ(f.kind, KILN_SIM_RACE_BETWEEN_BLOCKS) << f.text;
      const bool reads = f.where == lineOf("at raceBetweenBlocks");
      (reads ? readsLast : writesLast)++;
      EXPECT_EQ(f.where, lineOf(reads ? "at raceBetweenBlocks" : "other raceBetweenBlocks"));
      EXPECT_EQ(f.other_where, lineOf(reads ? "other raceBetweenBlocks" : "at raceBetweenBlocks"));
      EXPECT_EQ(f.block[0] + f.other_block[0], 1u) << f.text;
      EXPECT_EQ(f.other_thread[0], -1);
      EXPECT_NE(std::string(f.text).find("; the other: a thread of block ("), std::string::npos)
          << f.text;
    }
  }
  EXPECT_EQ(readsLast, 8);
  EXPECT_EQ(writesLast, 8);
}

TEST_F(FaultTest, raceInWarp) {
  EXPECT_EQ(run("raceInWarp", 1, 32, 0, filled(32)), CUDA_SUCCESS);
  int races = 0;
  for (const kiln_sim_finding &f : findings()) {
    races += f.kind == KILN_SIM_RACE_READ_AFTER_WRITE || f.kind == KILN_SIM_RACE_WRITE_AFTER_READ;
    EXPECT_TRUE(f.where == lineOf("at raceInWarp") || f.where == lineOf("other raceInWarp"))
        << f.text;
  }
  EXPECT_GE(races, 1) << sim().report();
}

TEST_F(FaultTest, missingWait) {
  EXPECT_EQ(run("missingWait", 1, 32, 512, filled(32), filled(128)), CUDA_SUCCESS);
  expect(KILN_SIM_ASYNC_IN_FLIGHT, "missingWait", 0, kAny, kAny, true);
}

TEST_F(FaultTest, waitTooLax) {
  EXPECT_EQ(run("waitTooLax", 1, 32, 1024, filled(32), filled(128)), CUDA_SUCCESS);
  expect(KILN_SIM_ASYNC_IN_FLIGHT, "waitTooLax", 0, kAny, kAny);
}

TEST_F(FaultTest, neverWaited) {
  EXPECT_EQ(run("neverWaited", 1, 32, 512, filled(32), filled(128)), CUDA_SUCCESS);
  EXPECT_EQ(expect(KILN_SIM_ASYNC_NEVER_WAITED, "neverWaited", 0, kAny).count, 32u);
}

TEST_F(FaultTest, partialBarrier) {
  EXPECT_EQ(run("partialBarrier", 1, 64, 0, filled(64)), CUDA_SUCCESS);
  const kiln_sim_finding f = expect(KILN_SIM_PARTIAL_BARRIER, "partialBarrier", 0, kAny, 40);
  EXPECT_LT(f.thread[0], 40);
}

TEST_F(FaultTest, barrierDeadlock) {
  EXPECT_EQ(run("barrierDeadlock", 1, 64, 0, filled(64)), CUDA_ERROR_LAUNCH_TIMEOUT);
  const kiln_sim_finding f = expect(KILN_SIM_BARRIER_DEADLOCK, "barrierDeadlock", 0, kAny, kAny);
  EXPECT_TRUE(f.thread[0] < 32 || f.thread[0] == 63);
  EXPECT_GE(f.other_thread[0], 32);
}

TEST_F(FaultTest, warpDeadlock) {
  EXPECT_EQ(run("warpDeadlock", 1, 32, 0, filled(32)), CUDA_ERROR_LAUNCH_TIMEOUT);
  int found = 0;
  for (const kiln_sim_finding &f : findings())
    if (f.kind == KILN_SIM_WARP_DEADLOCK && f.where == lineOf("at warpDeadlock")) {
      ++found;
      EXPECT_LT(f.thread[0], 16);
      EXPECT_GE(f.other_thread[0], 16);
      EXPECT_EQ(f.address, 0xffffffffu); // The mask.
      EXPECT_NE(std::string(f.text).find("__shfl_sync"), std::string::npos) << f.text;
    }
  EXPECT_EQ(found, 1) << sim().report();
}

TEST_F(FaultTest, maskWithoutCaller) {
  EXPECT_EQ(run("maskWithoutCaller", 1, 32, 0, filled(32)), CUDA_ERROR_ILLEGAL_INSTRUCTION);
  const kiln_sim_finding f = expect(KILN_SIM_MASK_WITHOUT_CALLER, "maskWithoutCaller", 0, kAny);
  EXPECT_GE(f.thread[0], 16);
  EXPECT_EQ(f.address, 0xffffu);
}

TEST_F(FaultTest, maskWithEndedLane) {
  EXPECT_EQ(run("maskWithEndedLane", 1, 32, 0, filled(32)), CUDA_ERROR_LAUNCH_TIMEOUT);
  expect(KILN_SIM_MASK_WITH_ENDED_LANE, "maskWithEndedLane", 0, kAny, 3);
}

TEST_F(FaultTest, shuffleFromAbsent) {
  EXPECT_EQ(run("shuffleFromAbsent", 1, 32, 0, filled(32)), CUDA_SUCCESS);
  const kiln_sim_finding f = expect(KILN_SIM_SHUFFLE_FROM_ABSENT, "shuffleFromAbsent", 0, kAny, 20);
  EXPECT_EQ(f.count, 16u);
}

TEST_F(FaultTest, trap) {
  EXPECT_EQ(run("trap", 3, 32, 0, filled(32)), CUDA_ERROR_LAUNCH_FAILED);
  expect(KILN_SIM_TRAP, "trap", 1, 6);
}

TEST_F(FaultTest, scheduleDependent) {
  kiln_sim_options options = {};
  options.replays = 4;
  start(options);
  EXPECT_EQ(run("scheduleDependent", 1, 128, 0, filled(1)), CUDA_SUCCESS);
  const kiln_sim_finding f =
      expect(KILN_SIM_SCHEDULE_DEPENDENT, "scheduleDependent", 0, kAny, kAny, true);
  EXPECT_NE(f.thread[0], f.other_thread[0]);
}

TEST_F(FaultTest, everyKindHasATest) {
  // The list of this file's tests; a new kind of finding changes the number.
  EXPECT_EQ(int(KILN_SIM_FINDING_KINDS), 23);
}

TEST_F(FaultTest, deepStackHitsTheGuardPage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        load("Faults", "plain");
        launch("deepStack", {1}, {32}, 0, filled(32));
        synchronize();
      },
      // A sanitizer of the build catches the signal and says so.
      [](int status) {
        return WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) == 1;
      },
      "");
}

} // namespace
