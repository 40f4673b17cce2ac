//===- Finite.cpp - Finding NaN and infinities ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Finite.h"

#include "kiln-c/dlpack.h"

#include <algorithm>
#include <cstring>

namespace kiln::rt {

/// What is not finite has all exponent bits set. Block by block, so that the
/// inner loop has no way out and becomes vector code.
template <typename Bits>
static uint64_t findExponent(const void *data, uint64_t count, Bits exponent) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  auto at = [&](uint64_t i) {
    Bits bits;
    std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
    return bits;
  };
  constexpr uint64_t block = 512;
  for (uint64_t begin = 0; begin < count; begin += block) {
    uint64_t end = std::min(begin + block, count);
    Bits found = 0;
    for (uint64_t i = begin; i != end; ++i)
      found |= Bits((at(i) & exponent) == exponent);
    if (!found) [[likely]]
      continue;
    for (uint64_t i = begin; i != end; ++i)
      if ((at(i) & exponent) == exponent)
        return i;
  }
  return count;
}

bool hasNotFinite(kiln_module_dtype type) {
  return (type.code == kDLFloat && (type.bits == 16 || type.bits == 32 || type.bits == 64)) ||
         (type.code == kDLBfloat && type.bits == 16);
}

uint64_t findNotFinite(kiln_module_dtype type, const void *data, uint64_t count) {
  if (type.bits == 64)
    return findExponent<uint64_t>(data, count, 0x7ff0000000000000);
  if (type.bits == 32)
    return findExponent<uint32_t>(data, count, 0x7f800000);
  return findExponent<uint16_t>(data, count, type.code == kDLBfloat ? 0x7f80 : 0x7c00);
}

} // namespace kiln::rt
