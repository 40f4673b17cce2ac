//===- TestSupport.h - What the runtime's tests share -------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_TESTSUPPORT_H
#define KILN_UNITTESTS_RUNTIME_TESTSUPPORT_H

#include "kiln-c/Loader.h"

#include <cstdint>
#include <string>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KILN_UNDER_TSAN 1
#endif
#endif

namespace kiln::test {

/// A float32 tensor in memory of its own.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
  DLTensor view = {};

  explicit Tensor(std::vector<int64_t> dims) : shape(std::move(dims)) {
    int64_t count = 1;
    for (int64_t dim : shape)
      count *= dim;
    values.resize(size_t(count));
    view.data = values.data();
    view.device = {kDLCPU, 0};
    view.ndim = int32_t(shape.size());
    view.dtype = {kDLFloat, 32, 1};
    view.shape = shape.data();
  }
  Tensor(const Tensor &) = delete;

  void fill(uint32_t seed) {
    for (float &value : values) {
      seed = seed * 1664525 + 1013904223;
      value = float(int32_t(seed >> 16) % 1000 - 500) / 250;
    }
  }
};

/// What TestModel.c computes.
struct Expected {
  std::vector<float> y, z;
  std::vector<int64_t> positive;

  explicit Expected(const std::vector<float> &x,
                    const std::vector<float> &bias = {0, 1, -1, 0.5f}) {
    size_t n = x.size() / 8;
    for (size_t row = 0; row != n; ++row) {
      float sums[4];
      for (int j = 0; j != 4; ++j)
        sums[j] = bias[size_t(j)];
      for (int i = 0; i != 8; ++i)
        for (int j = 0; j != 4; ++j)
          sums[j] += x[row * 8 + size_t(i)] * (float(i + 1) * 0.125f - float(j) * 0.5f);
      for (float sum : sums)
        y.push_back(sum > 0 ? sum : 0);
    }
    z = y;
    for (float value : y)
      z.push_back(2 * value + 1);
    for (size_t i = 0; i != y.size(); ++i)
      if (y[i] > 0)
        positive.push_back(int64_t(i));
  }
};

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_TESTSUPPORT_H
