//===- RegionText.h - MLIR text of contractions -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_TARGET_REGIONTEXT_H
#define KILN_UNITTESTS_TARGET_REGIONTEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// "tensor<2x?xf32, #kiln.dims<...>>" for dims that are numbers or expressions.
std::string tensorText(const std::vector<std::string> &dims, const std::string &element);

/// Hexadecimal elements of a constant, small and different.
std::string constantText(int64_t elements, const std::string &element);

struct MatMulCase {
  std::vector<std::string> a, b, y;
  std::string element = "f32";
  bool transA = false, transB = false;
  bool constantB = false;
  std::string epilogue = {}; // ops from %y to %z
  std::string extraArguments = {};
};

std::string matMulText(const MatMulCase &c);

struct ConvCase {
  std::vector<std::string> x, w;
  std::vector<int64_t> strides = {}, dilations = {}; // empty: ones
  std::vector<std::string> pads = {};                // empty: zeros
  int64_t group = 1;
  bool transposed = false;
  std::vector<int64_t> outputPadding = {};
  std::string element = "f32";
  bool constantW = true;
  std::string epilogue = {}; // ops from %y to %z; $y is the type
  std::string extraArguments = {};
};

std::vector<std::string> convResult(const ConvCase &c);
std::string convText(const ConvCase &c);

} // namespace kiln

#endif // KILN_UNITTESTS_TARGET_REGIONTEXT_H
