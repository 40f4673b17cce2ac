//===- Keywords.h - CUDA's keywords and builtin variables -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_KEYWORDS_H
#define KILN_CUDASIM_KEYWORDS_H

#include "kiln/cudasim/Hooks.h"

#include <vector_functions.h>
#include <vector_types.h>

#undef __host__
#undef __device__
#undef __global__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __shared__
#define __host__
#define __device__
#define __global__
#define __constant__ static
#define __forceinline__ __attribute__((always_inline)) inline
#define __launch_bounds__(...)
/// One range of its own in the module, poisoned before each block.
#define __shared__ static __attribute__((section("kiln_shared")))

#define KILN_UNWATCHED_BEGIN                                                                       \
  _Pragma("clang attribute push(__attribute__((no_sanitize(\"thread\"))), apply_to = function)")
#define KILN_UNWATCHED_END _Pragma("clang attribute pop")

namespace kiln::cudasim {

/// threadIdx and its kin: read by calls, not from memory, so that the
/// instrumentation does not see them.
template <int Base> struct Index3 {
  static unsigned getX() noexcept { return kilnSimIndex(Base); }
  static unsigned getY() noexcept { return kilnSimIndex(Base + 1); }
  static unsigned getZ() noexcept { return kilnSimIndex(Base + 2); }
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  __declspec(property(get = getZ)) unsigned z;
};

KILN_INLINE int lane() {
  return static_cast<int>(kilnSimIndex(0) +
                          kilnSimIndex(6) * (kilnSimIndex(1) + kilnSimIndex(7) * kilnSimIndex(2))) &
         31;
}

} // namespace kiln::cudasim

static constexpr kiln::cudasim::Index3<0> threadIdx{};
static constexpr kiln::cudasim::Index3<3> blockIdx{};
static constexpr kiln::cudasim::Index3<6> blockDim{};
static constexpr kiln::cudasim::Index3<9> gridDim{};
static constexpr int warpSize = 32;

#endif // KILN_CUDASIM_KEYWORDS_H
