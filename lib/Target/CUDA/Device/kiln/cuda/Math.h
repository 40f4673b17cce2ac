//===- Math.h - Scalar functions of emitted kernels -------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What MLIR's arith says in one op and C++ does not. Every function gives the
// same bits on a device, on the simulator and in code for CPUs.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDA_MATH_H
#define KILN_CUDA_MATH_H

#include "kiln/cuda/Device.h"
#include <cmath>

namespace kiln {

/// An integer of less than a byte, as a value: what it is made from wraps, and it
/// computes as the int that it is.
template <int Bits, bool IsSigned> class SubByte {
public:
  SubByte() = default;
  __device__ __forceinline__ constexpr SubByte(int64_t number)
      : number(IsSigned ? wrapped(number) : static_cast<int8_t>(number & mask)) {}
  __device__ __forceinline__ constexpr operator int() const { return number; }

private:
  static constexpr int64_t mask = (int64_t(1) << Bits) - 1, sign = int64_t(1) << (Bits - 1);
  __device__ __forceinline__ static constexpr int8_t wrapped(int64_t number) {
    return static_cast<int8_t>(((number & mask) ^ sign) - sign);
  }

  int8_t number;
};

template <typename To, typename From> __device__ __forceinline__ To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

template <size_t Bytes> struct UnsignedOfSize;
template <> struct UnsignedOfSize<1> {
  using Type = uint8_t;
};
template <> struct UnsignedOfSize<2> {
  using Type = uint16_t;
};
template <> struct UnsignedOfSize<4> {
  using Type = uint32_t;
};
template <> struct UnsignedOfSize<8> {
  using Type = uint64_t;
};

/// The float whose bits are given: numbers that have no literal.
template <typename T> __device__ __forceinline__ T fromBits(uint64_t bits) {
  return bitCast<T>(static_cast<typename UnsignedOfSize<sizeof(T)>::Type>(bits));
}

template <typename T> __device__ __forceinline__ bool isOrdered(T a, T b) {
  return a == a && b == b;
}
template <typename T> __device__ __forceinline__ bool isOrderedNotEqual(T a, T b) {
  return a < b || a > b;
}

/// NaN when one is; +0 is larger than -0.
template <typename T> __device__ __forceinline__ T maximum(T a, T b) {
  if (!isOrdered(a, b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T> __device__ __forceinline__ T minimum(T a, T b) {
  if (!isOrdered(a, b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// Of integers. Operands may be literals of another width.
template <typename A, typename B> __device__ __forceinline__ auto smaller(A a, B b) {
  return a < b ? a : b;
}
template <typename A, typename B> __device__ __forceinline__ auto larger(A a, B b) {
  return a > b ? a : b;
}

__device__ __forceinline__ int64_t floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
__device__ __forceinline__ int64_t ceilDiv(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

__device__ __forceinline__ int64_t floorMod(int64_t a, int64_t b) { return a - floorDiv(a, b) * b; }
/// The size of two dims that broadcast.
__device__ __forceinline__ int64_t broadcast(int64_t a, int64_t b) { return a == 1 ? b : a; }

/// Towards zero. Callers see to it that the number fits; one that does not gives
/// the smallest of the type, as x86 does.
template <typename To, typename From> __device__ __forceinline__ To toInteger(From x) {
  constexpr bool isSigned = To(-1) < To(0);
  constexpr int bits = 8 * sizeof(To);
  // 2^(bits - 1) or 2^bits: exact in every float.
  constexpr From limit = From(isSigned ? uint64_t(1) << (bits - 1) : uint64_t(1) << (bits - 1)) *
                         From(isSigned ? 1 : 2);
  const bool fits = isSigned ? x >= -limit && x < limit : x > From(-1) && x < limit;
  constexpr To least = isSigned ? To(uint64_t(1) << (bits - 1)) : To(0);
  return fits ? static_cast<To>(x) : least;
}

} // namespace kiln

using int2_t = kiln::SubByte<2, true>;
using int4_t = kiln::SubByte<4, true>;
using uint2_t = kiln::SubByte<2, false>;
using uint4_t = kiln::SubByte<4, false>;

#endif // KILN_CUDA_MATH_H
