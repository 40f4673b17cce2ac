//===- ScheduleTest.cpp - Device facts and the choice of configurations --===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CUDA/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace llvm;

namespace {

TEST(DeviceFacts, EveryDeviceIsRead) {
  std::vector<std::string> ids;
  for (const DeviceFacts &device : builtInDevices()) {
    ids.push_back(device.id);
    // A slip of the keyboard in one of three numbers.
    double fp32 = 2.0 * static_cast<double>(device.multiprocessors * device.fp32PerClock) *
                  static_cast<double>(device.clockHz);
    EXPECT_NEAR(fp32 / static_cast<double>(device.rate(Unit::fp32)), 1, 0.02) << device.id;
    EXPECT_EQ(device.rate(Unit::bf16) == 0, device.architecture == "sm_75") << device.id;
    if (device.rate(Unit::tf32)) {
      double ratio = static_cast<double>(device.rate(Unit::f16)) /
                     static_cast<double>(device.rate(Unit::tf32));
      EXPECT_NEAR(ratio, 2, 0.1) << device.id;
    }
    EXPECT_GE(device.memoryBytes, 16'000'000'000) << device.id;
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"a10", "a100", "b200", "h100", "h200", "l4", "l40s",
                                           "rtx4090", "t4"}));
}

TEST(DeviceFacts, AreFoundByNameAndArchitecture) {
  ASSERT_TRUE(findDevice("h200"));
  EXPECT_EQ(findDevice("h200")->memoryBytesPerSecond, 4'800'000'000'000);
  EXPECT_FALSE(findDevice("voodoo2"));
  ASSERT_TRUE(deviceOfArchitecture("sm_90a"));
  EXPECT_EQ(deviceOfArchitecture("sm_90a")->id, "h100");
  EXPECT_FALSE(deviceOfArchitecture("sm_35"));
}

std::string mistakeOf(StringRef device, StringRef architectures) {
  Expected<DeviceFacts> facts = parseDeviceFacts("mine", device, architectures);
  return facts ? "" : toString(facts.takeError());
}

TEST(DeviceFacts, MistakesAreNamed) {
  const std::string limits = R"({"version": 1, "architectures": {"sm_80": {
    "shared_per_multiprocessor": 167936, "shared_per_block": 166912,
    "shared_reserved_per_block": 1024, "blocks_per_multiprocessor": 32,
    "threads_per_multiprocessor": 2048, "fp32_per_clock": 64}}})";
  auto fact = [](const char *name, const char *value) {
    return std::string("\"") + name + R"(": {"value": )" + value +
           R"(, "source": "s", "verified": true})";
  };
  auto file = [&](std::string architecture, std::string clock, int version = 1) {
    return "{\"version\": " + std::to_string(version) +
           R"(, "name": "n", "sources": {"s": "x"}, "architecture": ")" + architecture +
           R"(", "facts": {)" + fact("multiprocessors", "1") + ", " + fact("l2_bytes", "1") + ", " +
           fact("memory_bytes", "1") + ", " + fact("memory_bytes_per_second", "1") + ", " +
           fact("clock_hz", clock.c_str()) + ", " + fact("fp32_flops", "1") + "}}";
  };
  EXPECT_EQ(mistakeOf(file("sm_80", "5"), limits), "");
  EXPECT_EQ(mistakeOf(file("sm_80", "-5"), limits),
            "device 'mine': 'facts': 'clock_hz': 'value' is no integer of at least 1");
  EXPECT_EQ(mistakeOf(file("sm_80", "\"fast\""), limits),
            "device 'mine': 'facts': 'clock_hz': 'value' is no integer of at least 1");
  EXPECT_EQ(mistakeOf(file("sm_80", "5", 2), limits), "device 'mine': written for a newer version");
  EXPECT_EQ(mistakeOf(file("sm_11", "5"), limits),
            "device 'mine': architectures: 'architectures': 'sm_11': is no object");
  EXPECT_EQ(mistakeOf("[]", limits), "device 'mine': is no object");
  EXPECT_NE(mistakeOf("{", limits), "");
  std::string unknownSource = file("sm_80", "5");
  unknownSource.replace(unknownSource.find(R"({"s": "x"})"), 10, R"({"t": "x"})");
  EXPECT_EQ(mistakeOf(unknownSource, limits),
            "device 'mine': 'facts': 'multiprocessors': 's' is none of the sources");
  EXPECT_NE(toString(readDeviceFacts("/nowhere/x.json").takeError()), "");
}

// The values of CUDA's occupancy calculator.
TEST(Occupancy, FollowsTheLimits) {
  const DeviceFacts &a100 = *findDevice("a100"), &a10 = *findDevice("a10");
  Occupancy threads = occupancyOf(a100, 256, 32, 0);
  EXPECT_EQ(threads.blocks, 8);
  EXPECT_EQ(threads.warps, 64);
  EXPECT_EQ(threads.fraction, 1);
  EXPECT_EQ(occupancyOf(a100, 32, 32, 0).blocks, 32);
  EXPECT_EQ(occupancyOf(a100, 32, 32, 0).limit, Occupancy::blocksLimit);
  // 133 registers: 17 units a warp, 3 warps a scheduler, 12 warps: one block of eight.
  Occupancy registers = occupancyOf(a100, 256, 133, 0);
  EXPECT_EQ(registers.blocks, 1);
  EXPECT_EQ(registers.limit, Occupancy::registers);
  EXPECT_EQ(occupancyOf(a100, 256, 128, 0).blocks, 2);
  Occupancy shared = occupancyOf(a100, 128, 32, 48 << 10);
  EXPECT_EQ(shared.blocks, 3) << "49 KiB each of 164";
  EXPECT_EQ(shared.limit, Occupancy::sharedMemory);
  EXPECT_EQ(occupancyOf(a10, 128, 32, 48 << 10).blocks, 2) << "of 100 KiB";
  EXPECT_EQ(occupancyOf(a10, 128, 32, 100 << 10).blocks, 0) << "more than a block may have";
  EXPECT_EQ(occupancyOf(a100, 128, 256, 0).blocks, 0);
  EXPECT_EQ(occupancyOf(a100, 2048, 16, 0).blocks, 0);
}

Work workOf(int64_t blocks, double operations, int64_t bytes) {
  Work work;
  work.shape = {{blocks, 1, 1}, 256, 0};
  work.registers = 64;
  work.operations = operations;
  work.traffic = {bytes, 0, bytes, 0};
  return work;
}

TEST(Prediction, WavesAreWholeRounds) {
  const DeviceFacts &a100 = *findDevice("a100");
  int64_t round = occupancyOf(a100, 256, 64, 0).blocks * a100.multiprocessors;
  Prediction full = predict(a100, workOf(round, 1e9, 1)),
             more = predict(a100, workOf(round + 1, 1e9, 1));
  EXPECT_EQ(full.waves, 1);
  EXPECT_EQ(full.waveFill, 1);
  EXPECT_EQ(more.waves, 2);
  EXPECT_LT(more.waveFill, 0.51);
  EXPECT_GT(more.compute, full.compute) << "one multiprocessor has more to do";
}

TEST(Prediction, TheRooflineHasTwoSides) {
  const DeviceFacts &a100 = *findDevice("a100");
  Prediction arithmetic = predict(a100, workOf(10800, 1e12, 1 << 20));
  EXPECT_EQ(arithmetic.boundBy(), "arithmetic");
  EXPECT_NEAR(arithmetic.compute, 1e12 / 19.5e12, 1e-3);
  Prediction memory = predict(a100, workOf(10800, 1e6, int64_t(1) << 30));
  EXPECT_EQ(memory.boundBy(), "memory");
  EXPECT_NEAR(memory.memory, static_cast<double>(int64_t(1) << 30) / (0.9 * 2039e9), 1e-5);
  EXPECT_EQ(predict(a100, workOf(1, 1, 1)).boundBy(), "launch");
  EXPECT_NE(memory.text().find("predicted"), std::string::npos);
  // Too few loads under way for the bandwidth.
  EXPECT_GT(predict(a100, workOf(10, 1e6, int64_t(1) << 30)).memory, 2 * memory.memory);
}

TEST(Choice, IsLegalAndFitsOnEveryDevice) {
  const MatMulExtents products[] = {{1, 128, 768, 768}, {1, 4096, 4096, 4096}, {1, 1, 1000, 2048},
                                    {1, 512, 49, 4608}, {12, 128, 128, 64},    {1, 1, 1, 1},
                                    {1, 7, 3, 1000000}, {65535, 3, 5, 2}};
  for (const DeviceFacts &device : builtInDevices())
    for (const MatMulExtents &e : products)
      for (int vector : {1, 4}) {
        MatMulDemand demand{e};
        demand.vectorA = demand.vectorB = vector;
        auto simt = chooseSimtMatMul(device, demand);
        ASSERT_TRUE(simt) << device.id;
        EXPECT_TRUE(simt->config.legal());
        EXPECT_LE(simt->config.sharedBytes(), device.sharedPerBlock);
        EXPECT_GE(simt->prediction.occupancy.blocks, 1);
        EXPECT_GE(stepsPerSplit(e.k, simt->config.tileK, simt->splits), 1);
        demand.elementBytes = demand.resultBytes = 2;
        auto tensor = chooseTensorMatMul(device, Unit::f16, demand);
        ASSERT_TRUE(tensor);
        EXPECT_TRUE(tensor->config.legal());
        EXPECT_LE(tensor->config.sharedBytes(), device.sharedPerBlock);
      }
  MatMulDemand demand{{1, 64, 64, 64}};
  demand.elementBytes = 2;
  EXPECT_FALSE(chooseTensorMatMul(*findDevice("t4"), Unit::bf16, demand));
}

TEST(Choice, FollowsTheDeviceAndTheShape) {
  const DeviceFacts &a100 = *findDevice("a100"), &t4 = *findDevice("t4");
  MatMulDemand large{{1, 4096, 4096, 4096}}, deep{{1, 64, 64, 65536}};
  large.vectorA = large.vectorB = deep.vectorA = deep.vectorB = 4;
  auto a = chooseSimtMatMul(a100, large), b = chooseSimtMatMul(a100, deep);
  EXPECT_EQ(a->splits, 1) << "blocks enough";
  EXPECT_GT(b->splits, 1) << "one tile alone would leave the device idle";
  EXPECT_GT(a->group, 1) << "tiles of a round share lines";
  EXPECT_NEAR(a->seconds, 2.0 * 4096 * 4096 * 4096 / 19.5e12, 0.1 * a->seconds);
  EXPECT_GT(chooseSimtMatMul(t4, large)->seconds, a->seconds);
  large.elementBytes = large.resultBytes = 2;
  EXPECT_LT(chooseTensorMatMul(a100, Unit::f16, large)->seconds, a->seconds / 4);
}

TEST(Choice, FewRowsStreamTheirWeights) {
  for (const DeviceFacts &device : builtInDevices())
    for (bool alongKB : {false, true})
      for (int64_t rows : {1, 3, SkinnyMatMulConfig::mostRows}) {
        MatMulDemand demand{{1, rows, 1000, 2048}};
        demand.alongKB = alongKB;
        demand.vectorA = demand.vectorB = 4;
        demand.maySplit = false;
        auto skinny = chooseSkinnyMatMul(device, demand);
        ASSERT_TRUE(skinny) << device.id << " " << rows;
        EXPECT_TRUE(skinny->config.legal());
        EXPECT_LE(skinny->config.launch(demand.extents, alongKB).sharedBytes,
                  device.sharedPerBlock);
        if (rows == 1)
          EXPECT_LT(skinny->seconds, chooseSimtMatMul(device, demand)->seconds) << device.id;
      }
}

TEST(Choice, OperandsThroughRegistersCostMore) {
  MatMulDemand chunks{{1, 4096, 4096, 4096}};
  chunks.elementBytes = chunks.resultBytes = 2;
  chunks.vectorA = chunks.vectorB = 8;
  MatMulDemand single = chunks;
  single.vectorB = 1;
  const DeviceFacts &a100 = *findDevice("a100");
  EXPECT_GT(chooseTensorMatMul(a100, Unit::f16, single)->seconds,
            chooseTensorMatMul(a100, Unit::f16, chunks)->seconds);
}

TEST(Choice, RowsPointwiseAndAttention) {
  for (const DeviceFacts &device : builtInDevices()) {
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1536, 128},
                                 {4, 768},
                                 {1, 50257},
                                 {100000, 10},
                                 {1, 1},
                                 {3, 1000000}}) {
      int vector = columns % 4 == 0 ? 4 : 1;
      auto choice = chooseRows(device, rows, columns, vector, 4, 4);
      ASSERT_TRUE(choice) << device.id << " " << rows << " x " << columns;
      EXPECT_TRUE(choice->config.legal());
      EXPECT_LE(choice->config.vector, vector);
    }
    PointwiseDemand sum;
    sum.columns = 10'000'000;
    sum.widestVector = 4;
    sum.operands = 2;
    sum.bytesPerElement = 8;
    sum.readBytes = 80'000'000;
    sum.writtenBytes = 40'000'000;
    auto pointwise = choosePointwise(device, sum);
    ASSERT_TRUE(pointwise);
    EXPECT_EQ(pointwise->config.vector, 4);
    for (int64_t length : {2, 1000}) {
      // As many warps share a column as have work there, if columns do not fill the device.
      auto sums = chooseColumns(device, 1, length, 64, 4, 4);
      ASSERT_TRUE(sums);
      EXPECT_TRUE(sums->config.legal());
      EXPECT_EQ(sums->config.warps > 4, length > 4) << device.id;
    }
    for (int stride : {1, 2}) {
      ConvGeometry g{2, 32, 1, 1, 56, 56, 56 / stride, 56 / stride, 3, 3, stride, stride};
      auto depthwise = chooseDepthwise(device, g, 4, 4);
      ASSERT_TRUE(depthwise);
      EXPECT_TRUE(depthwise->config.legal());
      EXPECT_LE(depthwise->config.sharedBytes(g), device.sharedPerBlock);
    }
    for (int head : {4, 64, 80, 128}) {
      AttentionExtents e{1, 12, 12, 384, 384, head, head};
      auto simt = chooseSimtAttention(device, e, false);
      ASSERT_TRUE(simt) << device.id << " head " << head;
      EXPECT_LE(simt->config.sharedBytes(), device.sharedPerBlock);
      EXPECT_TRUE(simt->config.legal());
      auto tensor = chooseTensorAttention(device, Unit::f16, e, true);
      ASSERT_TRUE(tensor) << device.id << " head " << head;
      EXPECT_LE(tensor->config.sharedBytes(), device.sharedPerBlock);
      EXPECT_TRUE(tensor->config.legal());
    }
  }
}

} // namespace
