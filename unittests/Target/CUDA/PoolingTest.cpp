//===- PoolingTest.cpp - Pooling on the simulator ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/Pooling/Pooling.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

enum class Kind { maximum, average, averagePadded };

double exactPool(const PoolGeometry &g, const std::vector<float> &x, Kind kind, int plane, int outY,
                 int outX) {
  double maximum = -INFINITY, sum = 0;
  int count = 0;
  for (int tapY = 0; tapY < g.kernelHeight; ++tapY)
    for (int tapX = 0; tapX < g.kernelWidth; ++tapX) {
      int y = outY * g.strideHeight + tapY * g.dilationHeight - g.padTop;
      int col = outX * g.strideWidth + tapX * g.dilationWidth - g.padLeft;
      if (y >= g.height + g.padBottom || col >= g.width + g.padRight)
        continue; // ceil_mode: beyond the padding
      bool inside = y >= 0 && y < g.height && col >= 0 && col < g.width;
      count += inside || kind == Kind::averagePadded;
      if (inside) {
        float v = x[(static_cast<size_t>(plane) * g.height + y) * g.width + col];
        maximum = std::fmax(maximum, v);
        sum += v;
      }
    }
  return kind == Kind::maximum ? maximum : sum / count;
}

class Pooling : public testing::TestWithParam<PoolGeometry> {};

TEST_P(Pooling, EveryKind) {
  const PoolGeometry &g = GetParam();
  const std::pair<const char *, Kind> kinds[] = {{"max_pool", Kind::maximum},
                                                 {"average_pool", Kind::average},
                                                 {"average_pool_padded", Kind::averagePadded}};
  for (unsigned seed : seeds)
    for (auto [kernel, kind] : kinds) {
      KernelRunner runner("PoolingKernels");
      runner.setSeed(seed);
      std::vector<float> x = randomFloats(size_t(g.planes) * g.height * g.width, seed);
      auto y = runner.allocate<float>(size_t(g.planes) * g.outHeight * g.outWidth);
      Launched launched = runner.launch(kernel, poolingLaunch(g, 128), runner.upload(x), y,
                                        runner.upload(std::vector<PoolGeometry>{g}));
      EXPECT_EQ(launched.findings, "");
      std::vector<float> got = runner.download(y);
      size_t index = 0;
      for (int plane = 0; plane < g.planes; ++plane)
        for (int outY = 0; outY < g.outHeight; ++outY)
          for (int outX = 0; outX < g.outWidth; ++outX, ++index)
            ASSERT_NEAR(got[index], exactPool(g, x, kind, plane, outY, outX),
                        kind == Kind::maximum ? 0 : 0x1p-20);
    }
}
INSTANTIATE_TEST_SUITE_P(Shapes, Pooling,
                         testing::Values(PoolGeometry{3, 8, 10, 4, 5, 2, 2, 2, 2},
                                         PoolGeometry{2, 7, 7, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
                                         // ceil_mode: the last window reaches beyond the padding
                                         PoolGeometry{1, 6, 5, 3, 3, 3, 3, 2, 2, 1, 1, 0, 0, 0, 0},
                                         PoolGeometry{2, 9, 9, 5, 5, 3, 3, 1, 1, 2, 2},
                                         PoolGeometry{5, 6, 6, 1, 1, 6, 6}));

} // namespace
