//===- HostTensor.h - Tensors of the command line ------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_HOSTTENSOR_H
#define KILN_TOOLS_KILN_RUN_HOSTTENSOR_H

#include "kiln-c/Runtime.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace kiln::run {

/// Exit codes of the program.
enum ExitCode : int {
  ExitEqual = 0,
  ExitDifferent = 1,
  ExitUsage = 2,
  ExitContract = 3,
  ExitSystem = 4,
  ExitArtefact = 5,
  ExitInternal = 70,
};

/// Why something did not work; converts to false when it did.
struct [[nodiscard]] Failure {
  int exitCode = 0;
  std::string message;

  explicit operator bool() const { return exitCode != 0; }
};

template <typename T> struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <typename U> CacheLineAllocator(const CacheLineAllocator<U> &) {}
  T *allocate(size_t n) {
    constexpr size_t line = 64;
    void *memory = std::aligned_alloc(line, (n * sizeof(T) + line) / line * line);
    if (!memory)
      std::abort();
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { std::free(memory); }
  template <typename U> bool operator==(const CacheLineAllocator<U> &) const { return true; }
};

/// Dense, row-major, in memory of its own.
struct HostTensor {
  std::string name;
  DLDataType type = {kDLFloat, 32, 1};
  std::vector<int64_t> shape;
  std::vector<uint8_t, CacheLineAllocator<uint8_t>> bytes;

  /// Types of less than 8 bits take a byte.
  uint64_t elementBytes() const { return (uint64_t(type.bits) + 7) / 8; }
  uint64_t numElements() const { return elementBytes() ? bytes.size() / elementBytes() : 0; }

  /// Room for `shape`; a failure when it is out of any bounds.
  Failure allocate();
  /// A view that lives as long as this tensor stays where it is.
  DLTensor view();
  /// Element `index` as a number; integers of 64 bits may lose digits.
  double valueAt(uint64_t index) const;
};

/// Floats of 4 to 8 bits.
inline bool isSmallFloat(DLDataType type) {
  return type.code >= kDLFloat8_e3m4 && type.code <= kDLFloat4_e2m1fn;
}
inline bool isFloat(DLDataType type) {
  return type.code == kDLFloat || type.code == kDLBfloat || isSmallFloat(type);
}
/// NumPy has no bfloat16 and no type of less than 8 bits: their bits travel as
/// uint16, and as int8 or uint8. Gives `tensor` such a type when `wanted` is one.
void adoptType(HostTensor &tensor, DLDataType wanted);
inline bool operator==(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

std::string typeName(DLDataType type);
std::string shapeText(const std::vector<int64_t> &shape);
/// "[batch, 16]" of a spec.
std::string specText(const kiln_tensor_spec &spec);

float halfToFloat(uint16_t bits);
float bfloatToFloat(uint16_t bits);
/// NaN for a type that is none.
float smallToFloat(uint8_t bits, DLDataType type);
uint16_t floatToHalf(float value);
uint16_t floatToBfloat(float value);

/// The same seed gives the same values everywhere. Floats lie in [-1, 1),
/// uint8 is any byte, other integers are 0 or 1: valid as tokens and masks.
void fillRandom(HostTensor &tensor, uint64_t seed);

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_HOSTTENSOR_H
