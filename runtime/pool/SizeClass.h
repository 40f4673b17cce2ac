//===- SizeClass.h - Eight sizes an octave ------------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 64, 128 ... 512, then eight steps from each power of two to the next: at most
// an eighth of a block is lost. Sizes are counted in units of the alignment, so
// that padding is part of the size before the class is chosen: 2^n bytes are a
// class, whatever they are padded for.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_SIZECLASS_H
#define KILN_RUNTIME_POOL_SIZECLASS_H

#include "Support.h"

#include <bit>

namespace kiln::rt {

/// Up to 64 MiB; what is larger comes from the source itself.
inline constexpr uint32_t kNumClasses = 144;

/// Of the last byte's offset in a block.
constexpr uint32_t classOfLast(uint64_t last) {
  uint64_t unit = last / kAlignment;
  uint32_t shift = (63 ^ uint32_t(std::countl_zero(unit | 15))) - 3;
  return shift * 8 + uint32_t(unit >> shift);
}
constexpr uint32_t classOf(uint64_t bytes) { return classOfLast(bytes - (bytes != 0)); }

constexpr uint64_t classBytes(uint32_t sizeClass) {
  if (sizeClass < 8)
    return (sizeClass + 1) * kAlignment;
  return uint64_t(sizeClass % 8 + 9) << (sizeClass / 8 - 1) << 6;
}

inline constexpr uint64_t kLargestClass = classBytes(kNumClasses - 1);

static_assert(kAlignment == 64);
static_assert(kLargestClass == uint64_t(64) << 20);
static_assert(classOf(kLargestClass) == kNumClasses - 1);
static_assert(classBytes(classOf(1 * 256 * 128 * 4)) == 1 * 256 * 128 * 4);

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_SIZECLASS_H
