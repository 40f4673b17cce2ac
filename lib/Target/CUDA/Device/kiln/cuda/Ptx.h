//===- Ptx.h - Instructions that CUDA C++ has no name for -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device's bodies of the wrappers that Device.h lists. sm_75 has neither
// cp.async nor the larger shapes of mma: there a copy is a load and a store, and
// a product is made of the smaller shapes, whose fragments are parts of the
// larger ones'. It has no bf16 or tf32 product.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDA_PTX_H
#define KILN_CUDA_PTX_H

#include <type_traits>

#define KILN_UNWATCHED_BEGIN
#define KILN_UNWATCHED_END

namespace kiln {

/// Shared memory that the launch asks for. Aligned to 16: more would pad every
/// kernel of a file.
__device__ __forceinline__ unsigned char *dynamicShared() {
  extern __shared__ __align__(16) unsigned char kilnDynamicShared[];
  return kilnDynamicShared;
}

template <class V> __device__ __forceinline__ V loadVector(const void *p) {
  return *static_cast<const V *>(p);
}
template <class V> __device__ __forceinline__ void storeVector(void *p, V v) {
  *static_cast<V *>(p) = v;
}

__device__ __forceinline__ unsigned sharedAddress(const void *p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

template <int Bytes>
__device__ __forceinline__ void cpAsync(void *dst, const void *src, bool pred) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "sizes of cp.async");
#if __CUDA_ARCH__ >= 800
  const int size = pred ? Bytes : 0;
  if constexpr (Bytes == 16) // Past L1: what is copied is used from shared memory.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(dst)),
                 "l"(src), "r"(size)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(sharedAddress(dst)),
                 "l"(src), "n"(Bytes), "r"(size)
                 : "memory");
#else
  using Word =
      std::conditional_t<Bytes == 16, uint4, std::conditional_t<Bytes == 8, uint2, unsigned>>;
  storeVector<Word>(dst, pred ? loadVector<Word>(src) : Word{});
#endif
}
__device__ __forceinline__ void cpAsync16(void *dst, const void *src, bool pred = true) {
  cpAsync<16>(dst, src, pred);
}
__device__ __forceinline__ void cpAsyncCommit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N> __device__ __forceinline__ void cpAsyncWait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

template <bool Trans, int N, class Row>
__device__ __forceinline__ void ldmatrix4(uint32_t (&r)[N][4], Row row) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const unsigned at = sharedAddress(row(i));
    if constexpr (Trans)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[i][0]), "=r"(r[i][1]), "=r"(r[i][2]), "=r"(r[i][3])
                   : "r"(at)
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[i][0]), "=r"(r[i][1]), "=r"(r[i][2]), "=r"(r[i][3])
                   : "r"(at)
                   : "memory");
  }
}

#define KILN_MMA_FLOAT(shape, type)                                                                \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "                     \
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                             \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#define KILN_MMA_INTEGER(typeA, typeB)                                                             \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." typeA "." typeB ".s32 "                    \
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                             \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#define KILN_MMA_HALF_75(a0, a1, b)                                                                \
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "                                 \
               "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                                      \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                    \
               : "r"(a0), "r"(a1), "r"(b))
#define KILN_MMA_INTEGER_75(typeA, typeB, d, a, b)                                                 \
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." typeA "." typeB ".s32 "                     \
               "{%0,%1}, {%2}, {%3}, {%0,%1};"                                                     \
               : "+r"((d)[0]), "+r"((d)[1])                                                        \
               : "r"(a), "r"(b))

/// One tile of 16 x 8. A has rows of 32 bytes in four registers, B columns of 32
/// bytes in two: k is 16 (f16, bf16), 8 (tf32) or 32 (8-bit integers).
template <class A, class B, class Acc>
__device__ __forceinline__ void mmaTile(Acc (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                        uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<A, __half>)
    KILN_MMA_FLOAT("m16n8k16", "f16");
  else if constexpr (std::is_same_v<A, __nv_bfloat16>)
    KILN_MMA_FLOAT("m16n8k16", "bf16");
  else if constexpr (std::is_same_v<A, Tf32>)
    KILN_MMA_FLOAT("m16n8k8", "tf32");
  else if constexpr (std::is_same_v<A, int8_t> && std::is_same_v<B, int8_t>)
    KILN_MMA_INTEGER("s8", "s8");
  else if constexpr (std::is_same_v<A, int8_t>)
    KILN_MMA_INTEGER("s8", "u8");
  else if constexpr (std::is_same_v<B, int8_t>)
    KILN_MMA_INTEGER("u8", "s8");
  else
    KILN_MMA_INTEGER("u8", "u8");
#else
  static_assert(std::is_same_v<A, __half> || std::is_integral_v<A>,
                "sm_75 multiplies halves and bytes only");
  if constexpr (std::is_same_v<A, __half>) {
    KILN_MMA_HALF_75(a[0], a[1], b0);
    KILN_MMA_HALF_75(a[2], a[3], b1);
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const uint32_t b = k ? b1 : b0;
        if constexpr (std::is_same_v<A, int8_t> && std::is_same_v<B, int8_t>)
          KILN_MMA_INTEGER_75("s8", "s8", d + half * 2, a[k * 2 + half], b);
        else if constexpr (std::is_same_v<A, int8_t>)
          KILN_MMA_INTEGER_75("s8", "u8", d + half * 2, a[k * 2 + half], b);
        else if constexpr (std::is_same_v<B, int8_t>)
          KILN_MMA_INTEGER_75("u8", "s8", d + half * 2, a[k * 2 + half], b);
        else
          KILN_MMA_INTEGER_75("u8", "u8", d + half * 2, a[k * 2 + half], b);
      }
  }
#endif
}
#undef KILN_MMA_FLOAT
#undef KILN_MMA_INTEGER
#undef KILN_MMA_HALF_75
#undef KILN_MMA_INTEGER_75

template <class A, class B = A, class Acc, int M, int N>
__device__ __forceinline__ void mma(Acc (&d)[M][N][4], const uint32_t (&a)[M][4],
                                    const uint32_t (&b)[N / 2][4]) {
  static_assert(N % 2 == 0, "one ldmatrix4 gives B of two tiles");
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j)
      mmaTile<A, B>(d[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
}

/// x as a tf32 operand: rounded to nearest, ties away from zero.
__device__ __forceinline__ uint32_t toTf32(float x) {
  uint32_t r;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
#else
  r = __float_as_uint(x);
#endif
  return r;
}

//===----------------------------------------------------------------------===//
// Reductions and bytes
//===----------------------------------------------------------------------===//

template <int Width = 32, class T, class Op> __device__ __forceinline__ T warpReduce(T v, Op op) {
#pragma unroll
  for (int m = Width / 2; m > 0; m /= 2)
    v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
  return v;
}

__device__ __forceinline__ int dp4a(int a, int b, int c) { return __dp4a(a, b, c); }
__device__ __forceinline__ unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  return __dp4a(a, b, c);
}

} // namespace kiln

#endif // KILN_CUDA_PTX_H
