//===- KilnRunTest.cpp - kiln-run as a user calls it ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorFiles.h"
#include "TestSupport.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kiln::run;

namespace {

class KilnRun : public testing::Test {
protected:
  void SetUp() override {
    directory = testing::TempDir() + "kiln-run-test-" + std::to_string(getpid());
    std::filesystem::create_directory(directory);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  /// Runs it on the test model; the exit code, with both streams in `output`.
  int run(const std::string &arguments, const std::string &name = "model") {
    std::string command =
        std::string(KILN_RUN) + " " + KILN_TEST_DIR + "/" + name + ".so " + arguments + " 2>&1";
    FILE *pipe = popen(command.c_str(), "r");
    output.clear();
    char buffer[4096];
    while (size_t got = fread(buffer, 1, sizeof buffer, pipe))
      output.append(buffer, got);
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  bool said(const char *part) const { return output.find(part) != std::string::npos; }

  std::string saveInput(int64_t n) {
    HostTensor tensor;
    tensor.shape = {n, 8};
    EXPECT_FALSE(tensor.allocate());
    fillRandom(tensor, 4);
    std::string path = directory + "/x.npy";
    EXPECT_FALSE(writeFile(path, formatNpy(tensor)));
    return path;
  }

  std::string directory, output;
};

} // namespace

TEST_F(KilnRun, Help) {
  EXPECT_EQ(run("--help"), 0);
  EXPECT_TRUE(said("USAGE: kiln-run [options] <model.so>"));
  EXPECT_TRUE(said("--input=<NAME=FILE.npy|FILE.pb|random[:SEED]>"));
  EXPECT_EQ(run("--version"), 0);
}

TEST_F(KilnRun, Info) {
  EXPECT_EQ(run("--info"), 0);
  EXPECT_TRUE(said("x: float32 [n, 8]  n in 1..64"));
  EXPECT_TRUE(said("bias: float32 [4]  (optional: has a default)"));
}

TEST_F(KilnRun, FilesInAndOut) {
  std::string x = saveInput(5), out = directory + "/out";
  ASSERT_EQ(run("--input x=" + x + " --output-dir " + out), 0) << output;
  ASSERT_EQ(run("--input=x=" + x + " --threads 3 --max-ulp 0 --expect y=" + out +
                "/y.npy --expect z=" + out + "/z.npy --expect positive=" + out + "/positive.npy"),
            0)
      << output;
  EXPECT_TRUE(said("output 'y': equal within tolerance"));
  EXPECT_EQ(run("--input x=random:9 --shape x=5x8 --expect y=" + out + "/y.npy"), 1) << output;
  EXPECT_TRUE(said("out of tolerance"));
  EXPECT_TRUE(said("worst at ["));
  // By number, and with an expectation of another shape.
  EXPECT_EQ(run("--input 0=" + x + " --expect 0=" + out + "/z.npy"), 1) << output;
  EXPECT_TRUE(said("expected shape [10, 4], got [5, 4]"));
}

TEST_F(KilnRun, BenchAndJson) {
  std::string json = directory + "/result.json";
  ASSERT_EQ(run("--bench 50 --threads 1 --shape x=2x8 --json " + json), 0) << output;
  EXPECT_TRUE(said("50 runs, 1 thread: min "));
  std::string text;
  ASSERT_FALSE(readFile(json, text));
  EXPECT_NE(text.find("\"median_ns\""), std::string::npos);
  ASSERT_EQ(run("--info --json -"), 0);
  EXPECT_EQ(output[0], '{');
}

TEST_F(KilnRun, ProfileAndReports) {
  std::string files = " --profile json:" + directory + "/p.json --profile trace:" + directory +
                      "/t.json --mem-report " + directory + "/m.html --metrics " + directory +
                      "/m.txt";
  EXPECT_EQ(run("--shape x=20x8 --bench 20 --threads 1 --profile table" + files), ExitEqual)
      << output;
  EXPECT_TRUE(said("3 launches in")) << output;
  EXPECT_TRUE(said("Mul_3,Add_4,Concat_5")) << output;
  auto holds = [&](const char *name, const char *part) {
    std::string text;
    EXPECT_FALSE(readFile(directory + "/" + name, text));
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(holds("p.json", "\"launches\": 20"));
  EXPECT_TRUE(holds("t.json", "\"ph\": \"X\""));
  EXPECT_TRUE(holds("m.txt", "kiln_runs_total{model=\"test\"}"));
  EXPECT_TRUE(holds("m.html", "<title>MatMul_0,Add_1\n320 B at offset"));
  EXPECT_TRUE(holds("m.html", "<polyline"));
  EXPECT_FALSE(holds("m.html", "http")) << "the page is to need no other file";
  EXPECT_EQ(run("--shape x=2x8 --profile sideways"), ExitUsage);
  EXPECT_EQ(run("--shape x=2x8 --profile json:"), ExitUsage);
  EXPECT_EQ(run("--shape x=2x8 --mem-report /nowhere/x.html"), ExitSystem);
}

TEST_F(KilnRun, ChecksWhileItRuns) {
  for (const char *rate : {"rolling", "every-run", "background", "rolling,keyed", "every-run,keyed",
                           "background,keyed"})
    EXPECT_EQ(run(std::string("--shape x=2x8 --finite y --check-weights ") + rate), ExitEqual)
        << output;
  EXPECT_EQ(run("--shape x=2x8 --check-weights sometimes"), ExitUsage);
  EXPECT_EQ(run("--shape x=2x8 --check-weights rolling,never"), ExitUsage);
  EXPECT_EQ(run("--shape x=2x8 --finite nothing"), ExitUsage);
  EXPECT_TRUE(said("no output 'nothing'")) << output;
}

TEST_F(KilnRun, DataSet) {
  std::string x = saveInput(3);
  EXPECT_EQ(run("--data-set " + directory + "/missing"), 4);
  // input_0.pb: dims 3 and 8, float, 96 bytes of raw data.
  HostTensor tensor;
  ASSERT_FALSE(readTensor(x, tensor));
  auto proto = [](const HostTensor &from, unsigned type) {
    std::string text;
    for (int64_t dim : from.shape)
      text += std::string("\x08") + char(dim);
    text += std::string("\x10") + char(type) + "\x4a";
    size_t size = from.bytes.size();
    if (size >= 128)
      text += char((size & 127) | 128);
    text += char(size >= 128 ? size >> 7 : size);
    return text.append(reinterpret_cast<const char *>(from.bytes.data()), size);
  };
  ASSERT_FALSE(writeFile(directory + "/input_0.pb", proto(tensor, 1)));
  ASSERT_EQ(run("--input x=" + x + " --output-dir " + directory), 0) << output;
  const char *names[] = {"y", "z", "positive"};
  for (int i = 0; i != 3; ++i) {
    HostTensor expected;
    ASSERT_FALSE(readTensor(directory + "/" + names[i] + ".npy", expected));
    ASSERT_FALSE(writeFile(directory + "/output_" + std::to_string(i) + ".pb",
                           proto(expected, i == 2 ? 7 : 1)));
  }
  EXPECT_EQ(run("--data-set " + directory), 0) << output;
}

TEST_F(KilnRun, UsageErrors) {
  for (const char *arguments : {"--unknown",
                                "--bench",
                                "--bench 0",
                                "--bench x",
                                "--rtol -1",
                                "--rtol nan",
                                "--threads -2",
                                "--threads 5000",
                                "--input x",
                                "--input w=random",
                                "--shape x=axb",
                                "--shape y=1",
                                "--info=3",
                                "another.so",
                                "",
                                "--input x=random",
                                "--input x=x.txt",
                                "--device cuda:0 --shape x=1x8",
                                "--input x=random:z --shape x=1x8",
                                "--shape x=1x8 --shape x=2x8",
                                "--shape x=1x8 --shape 0=2x8",
                                "--shape x=1x8 --input x=random --input x=random:1",
                                "--shape x=1x8 --input x=random --input 0=random"})
    EXPECT_EQ(run(arguments), 2) << arguments << "\n" << output;
}

TEST_F(KilnRun, BrokenContracts) {
  EXPECT_EQ(run("--shape x=70x8"), 3);
  EXPECT_TRUE(said("input 'x' axis 0: expected n of 1 to 64, got 70"));
  EXPECT_EQ(run("--shape x=2x2x2"), 3);
  EXPECT_EQ(run("--shape x=13x8"), 3);
  EXPECT_EQ(run("--input x=" + saveInput(2) + " --input bias=" + saveInput(2)), 3);
}

TEST_F(KilnRun, SystemErrors) {
  EXPECT_EQ(run("--input x=" + directory + "/none.npy"), 4);
  EXPECT_EQ(run("--shape x=1x8 --output-dir " + directory + "/a/b"), 4);
  EXPECT_EQ(run("--shape x=1x8 --json /nonexistent/file"), 4);
  EXPECT_EQ(run("--info", "missing"), 4);
  EXPECT_TRUE(said("No such file"));
}

TEST_F(KilnRun, RejectedArtefacts) {
  for (const char *name : {"foreign_cpu", "foreign_abi", "bad_weights", "noted"})
    EXPECT_EQ(run("--info", name), 5) << name << output;
  EXPECT_EQ(run("--info --trust-weights", "bad_weights"), 0) << output;
}
