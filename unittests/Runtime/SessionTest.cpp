//===- SessionTest.cpp - Runs: results, memory, strides, threads ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Allocations.h"
#include "TestSupport.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace kiln::test;

extern "C" const kiln_api *kiln_model_query(uint32_t abi);

namespace {

class Session : public testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    api = kiln_model_query(KILN_ABI_VERSION);
    ASSERT_NE(api, nullptr);
    before = api->live_objects();
    kiln_model_options modelOptions = {};
    modelOptions.struct_size = sizeof modelOptions;
    modelOptions.flags = KILN_MODEL_VERIFY_WEIGHTS;
    ASSERT_EQ(kiln_model_open(api, &modelOptions, &model), KILN_OK);
    kiln_session_options options = {};
    options.struct_size = sizeof options;
    options.device = "cpu";
    options.threads = GetParam();
    ASSERT_EQ(kiln_session_create(model, &options, &session), KILN_OK);
  }
  void TearDown() override {
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    EXPECT_EQ(api->live_objects(), before);
  }

  kiln_status_t run(const Tensor &x, DLTensor *y, DLTensor *z, DLTensor *positive,
                    const DLTensor *bias = nullptr) {
    const DLTensor *inputs[] = {&x.view, bias};
    DLTensor *outputs[] = {y, z, positive};
    return kiln_run(session, inputs, 2, outputs, 3, nullptr);
  }

  /// Runs into the caller's memory and compares everything.
  void check(int64_t n, uint32_t seed) {
    Tensor x({n, 8}), y({n, 4}), z({2 * n, 4});
    x.fill(seed);
    DLTensor late = {};
    ASSERT_EQ(run(x, &y.view, &z.view, &late), KILN_OK) << kiln_session_error(session);
    Expected expected(x.values);
    EXPECT_EQ(y.values, expected.y);
    EXPECT_EQ(z.values, expected.z);
    ASSERT_EQ(late.ndim, 1);
    ASSERT_EQ(late.shape[0], int64_t(expected.positive.size()));
    EXPECT_EQ(std::memcmp(late.data, expected.positive.data(), expected.positive.size() * 8), 0);
  }

  const kiln_api *api = nullptr;
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  uint64_t before = 0;
};

} // namespace

TEST_P(Session, ComputesForEverySize) {
  for (int64_t n = 1; n <= 64; ++n)
    if (n != 13)
      check(n, uint32_t(n));
  for (int64_t n : {64, 1, 7, 64, 2})
    check(n, 5);
}

TEST_P(Session, KnownShapesAllocateNothing) {
  Tensor x({32, 8}), y({32, 4}), z({64, 4}), x2({5, 8}), y2({5, 4}), z2({10, 4});
  std::vector<int64_t> found(256);
  int64_t room = 256;
  DLTensor late = y.view;
  late.dtype = {kDLInt, 64, 1};
  late.ndim = 1;
  late.shape = &room;
  late.data = found.data();
  auto both = [&] {
    room = 256;
    ASSERT_EQ(run(x, &y.view, &z.view, &late), KILN_OK) << kiln_session_error(session);
    room = 256;
    ASSERT_EQ(run(x2, &y2.view, &z2.view, &late), KILN_OK);
  };
  both();
  both();
  uint64_t start = allocations;
  for (int i = 0; i != 100; ++i)
    both();
  // Not even the block of run-time size that the model asks for in each run.
  EXPECT_EQ(allocations - start, 0u);
}

TEST_P(Session, GivesItsOwnMemory) {
  Tensor x({6, 8});
  x.fill(9);
  DLTensor y = {}, z = {}, late = {};
  ASSERT_EQ(run(x, &y, &z, &late), KILN_OK);
  Expected expected(x.values);
  ASSERT_EQ(y.ndim, 2);
  EXPECT_EQ(y.shape[0], 6);
  EXPECT_EQ(y.strides[0], 4);
  EXPECT_EQ(z.shape[0], 12);
  EXPECT_EQ(std::memcmp(y.data, expected.y.data(), expected.y.size() * 4), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(z.data) % 64, 0u);
}

TEST_P(Session, GivesManagedTensors) {
  Tensor x({6, 8});
  x.fill(10);
  const DLTensor *inputs[] = {&x.view};
  DLManagedTensorVersioned *outputs[3] = {};
  ASSERT_EQ(kiln_run_managed(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  Expected expected(x.values);
  // Model, pool, session, its cache, its executor, three outputs.
  EXPECT_EQ(api->live_objects() - before, GetParam() == 1 ? 7u : 8u);
  ASSERT_EQ(outputs[1]->dl_tensor.shape[0], 12);
  EXPECT_EQ(outputs[1]->version.major, 1u);
  EXPECT_EQ(std::memcmp(outputs[1]->dl_tensor.data, expected.z.data(), expected.z.size() * 4), 0);
  EXPECT_EQ(outputs[2]->dl_tensor.shape[0], int64_t(expected.positive.size()));
  for (DLManagedTensorVersioned *output : outputs)
    output->deleter(output);
}

TEST_P(Session, TakesOtherBiasAndStrides) {
  Tensor x({8, 5}), bias({8});
  x.fill(11);
  bias.values = {1, 0, 2, 0, 3, 0, 4, 0};
  int64_t shape[] = {5, 8}, strides[] = {1, 5}, biasShape[] = {4}, biasStrides[] = {2};
  x.view.shape = shape;
  x.view.strides = strides;
  bias.view.shape = biasShape;
  bias.view.strides = biasStrides;
  Tensor y({5, 4}), z({10, 4});
  DLTensor late = {};
  ASSERT_EQ(run(x, &y.view, &z.view, &late, &bias.view), KILN_OK) << kiln_session_error(session);
  std::vector<float> dense;
  for (size_t i = 0; i != 5; ++i)
    for (size_t j = 0; j != 8; ++j)
      dense.push_back(x.values[j * 5 + i]);
  EXPECT_EQ(y.values, Expected(dense, {1, 2, 3, 4}).y);
}

TEST_P(Session, TakesAnyAlignment) {
  Tensor x({5, 8}), y({5, 4}), z({10, 4});
  x.fill(12);
  Expected expected(x.values);
  std::vector<uint8_t> bytes(5 * 8 * 4 + 3), out(5 * 4 * 4 + 1);
  std::memcpy(bytes.data() + 3, x.values.data(), 5 * 8 * 4);
  x.view.data = bytes.data();
  x.view.byte_offset = 3;
  y.view.data = out.data();
  y.view.byte_offset = 1;
  DLTensor late = {};
  ASSERT_EQ(run(x, &y.view, &z.view, &late), KILN_OK);
  EXPECT_EQ(std::memcmp(out.data() + 1, expected.y.data(), expected.y.size() * 4), 0);
  EXPECT_EQ(z.values, expected.z);
}

TEST_P(Session, OutputsMayOverwriteInputs) {
  // y lies over the first half of x, which later rows still need.
  Tensor x({8, 8}), z({16, 4});
  x.fill(13);
  Expected expected(x.values);
  DLTensor y = x.view, late = {};
  int64_t shape[] = {8, 4};
  y.shape = shape;
  ASSERT_EQ(run(x, &y, &z.view, &late), KILN_OK);
  EXPECT_EQ(std::memcmp(x.values.data(), expected.y.data(), expected.y.size() * 4), 0);
  EXPECT_EQ(z.values, expected.z);
}

TEST_P(Session, OwnOutputsMayBeInputs) {
  // 2*n rows of 4 are n rows of 8; the next run's outputs are larger, so that
  // the memory that the input lies in has to grow.
  Tensor x({2, 8});
  x.fill(14);
  DLTensor y = {}, z = {}, late = {};
  ASSERT_EQ(run(x, &y, &z, &late), KILN_OK);
  std::vector<float> second(static_cast<float *>(z.data), static_cast<float *>(z.data) + 16);
  DLTensor input = z;
  int64_t shape[] = {8, 8}, strides[] = {0, 1};
  input.shape = shape;
  input.strides = strides;
  const DLTensor *inputs[] = {&input};
  y.data = z.data = late.data = nullptr;
  DLTensor *outputs[] = {&y, &z, &late};
  ASSERT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  std::vector<float> repeated;
  for (int i = 0; i != 8; ++i)
    repeated.insert(repeated.end(), second.begin(), second.begin() + 8);
  EXPECT_EQ(std::memcmp(y.data, Expected(repeated).y.data(), 8 * 4 * 4), 0);
  strides[0] = 8;
  shape[0] = 1;
  input = z;
  input.shape = shape;
  input.strides = nullptr;
  std::vector<float> third(static_cast<float *>(z.data), static_cast<float *>(z.data) + 8);
  y.data = z.data = late.data = nullptr;
  ASSERT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  EXPECT_EQ(std::memcmp(y.data, Expected(third).y.data(), 16), 0);
}

TEST_P(Session, TellsShapesBeforehand) {
  Tensor x({9, 8});
  x.view.data = nullptr;
  int64_t yDims[2], lateDims[1];
  DLTensor y = {}, late = {};
  y.shape = yDims;
  late.shape = lateDims;
  const DLTensor *inputs[] = {&x.view};
  DLTensor *outputs[] = {&y, nullptr, &late};
  ASSERT_EQ(kiln_output_shapes(session, inputs, 1, outputs, 3), KILN_OK);
  EXPECT_EQ(yDims[0], 9);
  EXPECT_EQ(yDims[1], 4);
  EXPECT_EQ(lateDims[0], -1);
  EXPECT_EQ(late.dtype.bits, 64);
}

INSTANTIATE_TEST_SUITE_P(Threads, Session, testing::Values(1u, 2u, 4u));

TEST(Sessions, ShareModelAndExecutor) {
  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  kiln_model *model = nullptr;
  ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
  kiln_executor_options executorOptions = {};
  executorOptions.struct_size = sizeof executorOptions;
  executorOptions.threads = 3;
  kiln_executor *executor = nullptr;
  ASSERT_EQ(kiln_executor_create(api, &executorOptions, &executor), KILN_OK);
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t != 4; ++t)
    threads.emplace_back([&, t] {
      kiln_session_options options = {};
      options.struct_size = sizeof options;
      options.executor = executor;
      kiln_session *session = nullptr;
      if (kiln_session_create(model, &options, &session) != KILN_OK) {
        ++wrong;
        return;
      }
      for (uint32_t i = 0; i != 400; ++i) {
        int64_t n = 20 + (i * 7 + t) % 44;
        Tensor x({n, 8}), y({n, 4}), z({2 * n, 4});
        x.fill(i * 4 + t);
        DLTensor late = {};
        const DLTensor *inputs[] = {&x.view};
        DLTensor *outputs[] = {&y.view, &z.view, &late};
        wrong += kiln_run(session, inputs, 1, outputs, 3, nullptr) != KILN_OK;
        wrong += y.values != Expected(x.values).y;
      }
      wrong += kiln_session_destroy(session) != KILN_OK;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(kiln_executor_destroy(executor), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
}
