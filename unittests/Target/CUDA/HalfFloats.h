//===- HalfFloats.h - fp16 and bf16 for tests -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_UNITTESTS_TARGET_CUDA_HALFFLOATS_H
#define KILN_UNITTESTS_TARGET_CUDA_HALFFLOATS_H

#include "llvm/ADT/APFloat.h"
#include <cstdint>
#include <vector>

namespace kiln::cuda::test {

enum class HalfType { f16, bf16 };

inline const llvm::fltSemantics &semanticsOf(HalfType type) {
  return type == HalfType::f16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
}

/// Rounded to nearest even.
inline std::vector<uint16_t> toHalf(const std::vector<float> &values, HalfType type) {
  std::vector<uint16_t> bits;
  for (float value : values) {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(semanticsOf(type), llvm::APFloat::rmNearestTiesToEven, &inexact);
    bits.push_back(static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue()));
  }
  return bits;
}

inline std::vector<float> fromHalf(const std::vector<uint16_t> &bits, HalfType type) {
  std::vector<float> values;
  for (uint16_t half : bits)
    values.push_back(llvm::APFloat(semanticsOf(type), llvm::APInt(16, half)).convertToFloat());
  return values;
}

/// Half a unit in the last place, relative.
inline double halfUlp(HalfType type) { return type == HalfType::f16 ? 0x1p-11 : 0x1p-8; }

} // namespace kiln::cuda::test

#endif // KILN_UNITTESTS_TARGET_CUDA_HALFFLOATS_H
