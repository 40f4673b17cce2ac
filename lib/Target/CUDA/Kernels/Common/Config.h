//===- Config.h - What the host knows of a kernel template ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C++17 without CUDA: read by the compiler, which chooses a configuration, and by the
// templates, which are instantiated with it. So a formula stands in one place.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_COMMON_CONFIG_H

#include <cstdint>

namespace kiln::cuda {

constexpr int warpLanes = 32;
/// Bytes that one lane loads or stores at once, at most.
constexpr int vectorBytes = 16;

/// The execution configuration of one launch.
struct LaunchShape {
  int64_t blocks[3] = {1, 1, 1};
  int threads = 1;
  /// Dynamic shared memory, bytes.
  int sharedBytes = 0;
};

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Kernels whose threads share nothing: any number of whole warps is a block.
struct FlatConfig {
  int threads;

  constexpr LaunchShape launch(int64_t allThreads) const {
    return {{ceilDiv(allThreads, threads), 1, 1}, threads, 0};
  }
};

/// Bytes that one launch moves between global memory and the multiprocessors: what the simulator
/// counts, before any cache. `unique*` is what is left when nothing is moved twice.
struct Traffic {
  int64_t readBytes = 0;
  int64_t writtenBytes = 0;
  int64_t uniqueReadBytes = 0;
  int64_t uniqueWrittenBytes = 0;
};

constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }
constexpr bool isPowerOfTwo(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

/// The widest vector, in elements of `elementBytes`, that a row-major operand can be moved in:
/// every row has to start at a multiple of it, and its length has to be one.
constexpr int widestVector(int elementBytes, int64_t baseAlignment, int64_t rowStride,
                           int64_t rowLength) {
  int vector = vectorBytes / elementBytes;
  while (vector > 1 && (rowStride % vector != 0 || rowLength % vector != 0 ||
                        baseAlignment % (static_cast<int64_t>(vector) * elementBytes) != 0))
    vector /= 2;
  return vector;
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_CONFIG_H
