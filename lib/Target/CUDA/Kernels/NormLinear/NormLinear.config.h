//===- NormLinear.config.h - Configurations of a norm before a product -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CONFIG_H

#include "../MatMul/MatMul.config.h"

namespace kiln::cuda {

/// A product whose left rows are normalised on the way: the stages of the product, and mean and
/// scale of each row of the tile.
struct NormLinearConfig {
  SimtMatMulConfig product;

  constexpr int threads() const { return product.threads(); }
  constexpr int sharedBytes() const { return product.sharedBytes() + product.tileM * 8; }
  constexpr bool legal() const { return product.legal(); }
  constexpr LaunchShape launch(const MatMulExtents &e) const {
    LaunchShape shape = matMulLaunch(product, e, 1);
    shape.sharedBytes = sharedBytes();
    return shape;
  }
};

/// Each column of tiles reads its rows again for the statistics (twice if centred): from the
/// caches, where rows of a tile fit. What functors read comes on top.
constexpr Traffic normLinearTraffic(const NormLinearConfig &config, const MatMulExtents &e,
                                    bool centred, int elementBytes, int resultBytes) {
  Traffic t = matMulTraffic(config.product, e, 1, elementBytes, elementBytes, resultBytes);
  int64_t passes = e.m * e.k * ceilDiv(e.n, config.product.tileN);
  t.readBytes += passes * elementBytes * (centred ? 2 : 1);
  return t;
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CONFIG_H
