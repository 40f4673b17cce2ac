//===- Elements.cuh - Loading, converting and storing elements --*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic is done in fp32 (or int32); these functions stand between it and the types in memory.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_ELEMENTS_CUH
#define KILN_TARGET_CUDA_KERNELS_COMMON_ELEMENTS_CUH

#include "../Common/Config.h"
#include "kiln/cuda/Device.h"

namespace kiln::cuda {

/// One value in another type. Narrowing to a half type rounds to nearest even.
template <class To, class From> struct Convert {
  __device__ __forceinline__ static To of(From v) { return static_cast<To>(v); }
};
template <> struct Convert<float, __half> {
  __device__ __forceinline__ static float of(__half v) { return __half2float(v); }
};
template <> struct Convert<__half, float> {
  __device__ __forceinline__ static __half of(float v) { return __float2half_rn(v); }
};
template <> struct Convert<float, __nv_bfloat16> {
  __device__ __forceinline__ static float of(__nv_bfloat16 v) { return __bfloat162float(v); }
};
template <> struct Convert<__nv_bfloat16, float> {
  __device__ __forceinline__ static __nv_bfloat16 of(float v) { return __float2bfloat16_rn(v); }
};
template <class To, class From> __device__ __forceinline__ To convertTo(From v) {
  return Convert<To, From>::of(v);
}

/// A plain value of so many bytes, moved by one instruction.
template <int Bytes> struct Word;
template <> struct Word<1> {
  using Type = unsigned char;
};
template <> struct Word<2> {
  using Type = unsigned short;
};
template <> struct Word<4> {
  using Type = unsigned;
};
template <> struct Word<8> {
  using Type = uint2;
};
template <> struct Word<16> {
  using Type = uint4;
};

/// V elements of a vector, in their memory type.
template <class T, int V> union Packed {
  typename Word<static_cast<int>(sizeof(T)) * V>::Type word;
  T element[V];
  __device__ __forceinline__ Packed() : word() {}
};

/// How many of V elements one instruction moves.
template <class T, int V> struct PerWord {
  static constexpr int most = vectorBytes / static_cast<int>(sizeof(T));
  static constexpr int value = V < most ? V : most;
  using Type = Packed<T, value>;
  /// Smaller words are no vectors: plain accesses.
  static constexpr bool isVector = sizeof(Type) >= 4;
};

/// V neighbouring elements at `p`, aligned to all of them, as F.
template <int V, class F, class T>
__device__ __forceinline__ void loadElements(F (&to)[V], const T *p) {
  using Per = PerWord<T, V>;
#pragma unroll
  for (int at = 0; at < V; at += Per::value) {
    typename Per::Type packed;
    using Word = decltype(packed.word);
    if constexpr (Per::isVector)
      packed.word = loadVector<Word>(p + at);
    else
      packed.word = *reinterpret_cast<const Word *>(p + at);
#pragma unroll
    for (int i = 0; i < Per::value; ++i)
      to[at + i] = convertTo<F>(packed.element[i]);
  }
}

/// Stores V neighbouring elements at `p`, aligned to all of them.
template <int V, class T> __device__ __forceinline__ void storeElements(T *p, const T (&from)[V]) {
  using Per = PerWord<T, V>;
#pragma unroll
  for (int at = 0; at < V; at += Per::value) {
    typename Per::Type packed;
#pragma unroll
    for (int i = 0; i < Per::value; ++i)
      packed.element[i] = from[at + i];
    if constexpr (Per::isVector)
      storeVector(p + at, packed.word);
    else
      *reinterpret_cast<decltype(packed.word) *>(p + at) = packed.word;
  }
}

/// The same of values in the type to compute with.
template <int V, class T, class F>
__device__ __forceinline__ void storeConverted(T *p, const F (&from)[V]) {
  T converted[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
    converted[i] = convertTo<T>(from[i]);
  storeElements<V>(p, converted);
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_ELEMENTS_CUH
