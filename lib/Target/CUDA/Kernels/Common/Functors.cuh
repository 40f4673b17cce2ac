//===- Functors.cuh - Prologues, epilogues and reduction steps --*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A functor is what a fusion's region becomes. Both kinds have the form
//
//   T operator()(float value, long row, long col) const
//
// where (row, col) is the element's place in a row-major matrix that the template's README names;
// further operands are pointers among the functor's members. A functor may also have
//
//   template <int V> void vector(const float (&value)[V], T (&result)[V], long row, long col) const
//
// for V neighbouring columns of a row, so that its operands are read in whole vectors.
//
// A prologue may also read by itself. Then the template's own pointer is not looked at, and it has
// one of
//
//   const T *at(long row, long col) const           where the element lies: views with strides
//   float operator()(long row, long col) const      the element, whatever is in front of it
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_FUNCTORS_CUH
#define KILN_TARGET_CUDA_KERNELS_COMMON_FUNCTORS_CUH

#include "Elements.cuh"

namespace kiln::cuda {

/// The value itself, in another type at most.
template <class T = float> struct Identity {
  template <class F> __device__ __forceinline__ T operator()(F value, long, long) const {
    return convertTo<T>(value);
  }
};

template <class A, class B> struct IsSame {
  static constexpr bool value = false;
};
template <class A> struct IsSame<A, A> {
  static constexpr bool value = true;
};

/// Whether functor F has the vector form for results of type T.
template <class F, class From, class T, int V> struct HasVectorForm {
  template <class G>
  static constexpr auto test(const G *g, const From (*from)[V], T (*to)[V])
      -> decltype(g->vector(*from, *to, 0L, 0L), true) {
    return true;
  }
  static constexpr bool test(...) { return false; }
  static constexpr bool value = test(static_cast<const F *>(nullptr), nullptr, nullptr);
};

template <int V, class F, class From, class T>
__device__ __forceinline__ void applyFunctor(const F &f, const From (&from)[V], T (&to)[V],
                                             long row, long col) {
  if constexpr (HasVectorForm<F, From, T, V>::value) {
    f.vector(from, to, row, col);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] = f(from[i], row, col + i);
  }
}

/// Whether a prologue finds an element's address.
template <class F> struct HasAddressForm {
  template <class G> static constexpr auto test(const G *g) -> decltype(g->at(0L, 0L), true) {
    return true;
  }
  static constexpr bool test(...) { return false; }
  static constexpr bool value = test(static_cast<const F *>(nullptr));
};
/// Whether a prologue computes an element from its place alone.
template <class F> struct HasPlaceForm {
  template <class G> static constexpr auto test(const G *g) -> decltype((*g)(0L, 0L), true) {
    return true;
  }
  static constexpr bool test(...) { return false; }
  static constexpr bool value = test(static_cast<const F *>(nullptr));
};

/// V neighbours of a row behind a prologue of any form; `data` + `offset` is where they lie in the
/// matrix of the template.
template <int V, class F, class T, class Prologue>
__device__ __forceinline__ void loadThrough(F (&to)[V], const T *data, long offset,
                                            const Prologue &prologue, long row, long col) {
  if constexpr (HasAddressForm<Prologue>::value) {
    loadElements<V>(to, prologue.at(row, col));
  } else if constexpr (HasPlaceForm<Prologue>::value) {
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] = convertTo<F>(prologue(row, col + i));
  } else {
    F plain[V];
    loadElements<V>(plain, data + offset);
    applyFunctor<V>(prologue, plain, to, row, col);
  }
}

/// One element of the same.
template <class F = float, class T, class Prologue>
__device__ __forceinline__ F elementThrough(const T *data, long offset, const Prologue &prologue,
                                            long row, long col) {
  F one[1];
  loadThrough<1>(one, data, offset, prologue, row, col);
  return one[0];
}

struct Sum {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
  template <class T> __device__ __forceinline__ static T neutral() { return T(0); }
};
/// NaN wins, as in ONNX (and unlike in fmaxf).
struct Max {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return a > b || a != a ? a : b;
  }
  template <class T> __device__ __forceinline__ static T neutral() { return -INFINITY; }
};
struct Min {
  __device__ __forceinline__ float operator()(float a, float b) const {
    return a < b || a != a ? a : b;
  }
  template <class T> __device__ __forceinline__ static T neutral() { return INFINITY; }
};
struct Product {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a * b; }
  template <class T> __device__ __forceinline__ static T neutral() { return T(1); }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_FUNCTORS_CUH
