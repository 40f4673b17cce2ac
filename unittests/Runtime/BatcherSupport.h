//===- BatcherSupport.h - Requests of BatchModel.c ----------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_BATCHERSUPPORT_H
#define KILN_UNITTESTS_RUNTIME_BATCHERSUPPORT_H

#include "Allocations.h"
#include "BatchModel.h"
#include "TestSupport.h"
#include "kiln-c/Batcher.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>

extern "C" const kiln_api *kiln_model_query(uint32_t abi);

namespace kiln::test {

/// A request with its memory.
struct Item {
  Tensor x, bias, y, t, ends, shared;
  bool isBiased;
  kiln_submit_options how = {};
  kiln_ticket ticket = 0;

  Item(int64_t n, int64_t k, uint32_t seed, float biasValue = 1)
      : x({n, k}), bias({1}), y({n, k}), t({k, n}), ends({2 * n}), shared({1}),
        isBiased(biasValue != 1) {
    x.fill(seed);
    bias.values[0] = biasValue;
    how.struct_size = sizeof how;
  }

  kiln_status_t submit(kiln_batcher *batcher) {
    const DLTensor *inputs[] = {&x.view, isBiased ? &bias.view : nullptr};
    DLTensor *outputs[] = {&y.view, &t.view, &ends.view, &shared.view};
    return kiln_batcher_submit(batcher, inputs, 2, outputs, 4, &how, &ticket);
  }
  kiln_status_t submitViews(kiln_batcher *batcher, kiln_batch_done_fn done, void *user) {
    const DLTensor *inputs[] = {&x.view, isBiased ? &bias.view : nullptr};
    how.done = done;
    how.user = user;
    return kiln_batcher_submit(batcher, inputs, 2, nullptr, 0, &how, nullptr);
  }
  kiln_status_t run(kiln_batcher *batcher) {
    const DLTensor *inputs[] = {&x.view, isBiased ? &bias.view : nullptr};
    DLTensor *outputs[] = {&y.view, &t.view, &ends.view, &shared.view};
    return kiln_batcher_run(batcher, inputs, 2, outputs, 4, &how);
  }
  kiln_status_t wait(kiln_batcher *batcher) {
    return kiln_batcher_wait(batcher, ticket, UINT64_MAX);
  }

  /// Of any strides.
  bool matches(const DLTensor *const *outputs) const {
    auto at = [](const DLTensor &tensor, std::initializer_list<int64_t> index) {
      int64_t offset = 0, dense = 1;
      auto position = index.end();
      for (int32_t axis = tensor.ndim; axis-- > 0; dense *= tensor.shape[axis])
        offset += *--position * (tensor.strides ? tensor.strides[axis] : dense);
      const auto *bytes = static_cast<const uint8_t *>(tensor.data) + tensor.byte_offset;
      return reinterpret_cast<const float *>(bytes)[offset];
    };
    int64_t n = x.shape[0], k = x.shape[1];
    if (outputs[0]->shape[0] != n || outputs[0]->shape[1] != k || outputs[1]->shape[0] != k ||
        outputs[1]->shape[1] != n || outputs[2]->shape[0] != 2 * n || outputs[3]->shape[0] != 1)
      return false;
    bool right = at(*outputs[3], {0}) == bias.values[0];
    for (int64_t i = 0; i != n; ++i) {
      auto expected = [&](int64_t j) { return 2 * x.values[size_t(i * k + j)] + bias.values[0]; };
      for (int64_t j = 0; j != k; ++j)
        right = right && at(*outputs[0], {i, j}) == expected(j) &&
                at(*outputs[1], {j, i}) == expected(j);
      right = right && at(*outputs[2], {2 * i}) == expected(0) &&
              at(*outputs[2], {2 * i + 1}) == expected(k - 1);
    }
    return right;
  }
  void check() const {
    const DLTensor *outputs[] = {&y.view, &t.view, &ends.view, &shared.view};
    EXPECT_TRUE(matches(outputs));
  }
};

class Batcher : public testing::Test {
public:
  kiln_batcher_stats stats() {
    kiln_batcher_stats stats = {};
    stats.struct_size = sizeof stats;
    EXPECT_EQ(kiln_batcher_get_stats(batcher, &stats), KILN_OK);
    return stats;
  }

  const kiln_api *api = nullptr;
  kiln_model *model = nullptr;
  kiln_batcher *batcher = nullptr;
  kiln_batcher_options options = {};
  char error[256] = "";

protected:
  void SetUp() override {
    test_fixed_ns = test_row_ns = 0;
    api = kiln_model_query(KILN_ABI_VERSION);
    before = api->live_objects();
    ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
    options.struct_size = sizeof options;
    options.error = error;
    options.error_size = sizeof error;
  }
  void TearDown() override {
    EXPECT_EQ(kiln_batcher_close(batcher, KILN_CLOSE_DRAIN), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    EXPECT_EQ(api->live_objects(), before);
  }
  void start() { ASSERT_EQ(kiln_batcher_create(model, &options, &batcher), KILN_OK) << error; }

private:
  uint64_t before = 0;
};

/// A request whose callback keeps the (only) worker busy until it is pulled, so
/// that others queue up.
class Plug {
public:
  explicit Plug(Batcher &test) : item(1, 1, 0) {
    auto done = [](void *user, kiln_ticket ticket, kiln_status_t, const DLTensor *const *,
                   uint32_t) {
      auto &self = *static_cast<Plug *>(user);
      self.number = ticket;
      self.state = 1;
      self.state.notify_all();
      self.state.wait(1);
      self.state = 3;
      self.state.notify_all();
    };
    EXPECT_EQ(item.submitViews(test.batcher, done, this), KILN_OK);
    state.wait(0);
  }
  ~Plug() { pull(); }
  kiln_ticket ticket() const { return number; }
  void release() {
    int stuck = 1;
    if (state.compare_exchange_strong(stuck, 2))
      state.notify_all();
  }
  void pull() {
    release();
    state.wait(2);
  }

private:
  Item item;
  kiln_ticket number = 0;
  /// 0 not there, 1 stuck, 2 pulled, 3 gone.
  std::atomic<int> state{0};
};

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_BATCHERSUPPORT_H
