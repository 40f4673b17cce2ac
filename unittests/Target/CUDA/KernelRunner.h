//===- KernelRunner.h - Runs instances of templates in tests ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests see a kernel as a function of device buffers: KernelRunner loads the simulator's module,
// fills buffers, launches, and gives back what the simulator found and counted.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_UNITTESTS_TARGET_CUDA_KERNELRUNNER_H
#define KILN_UNITTESTS_TARGET_CUDA_KERNELRUNNER_H

#include "lib/Target/CUDA/Kernels/Common/Config.h"
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace kiln::cuda::test {

/// What the simulator counted in one launch.
struct Counts {
  uint64_t readBytes = 0, writtenBytes = 0, uniqueReadBytes = 0, uniqueWrittenBytes = 0;
  /// 32-byte sectors that warps asked for, and the fewest that could have held those bytes.
  uint64_t sectors = 0, idealSectors = 0;
  /// Cycles of shared memory, and as many as there would be without bank conflicts.
  uint64_t wavefronts = 0, idealWavefronts = 0;

  double coalescing() const {
    return sectors ? static_cast<double>(idealSectors) / static_cast<double>(sectors) : 1;
  }
};

struct Launched {
  /// Races, stray accesses and the like, one text each; empty for a correct kernel.
  std::string findings;
  Counts counts;
};

/// Memory of the simulated device; freed with the runner.
template <class T> struct Buffer {
  void *data = nullptr;
  size_t size = 0;
};

class KernelRunner {
public:
  /// A module of unittests/Target/CUDA, made by kiln_add_sim_module.
  explicit KernelRunner(const char *module);
  ~KernelRunner();

  /// The order in which threads run is drawn from this.
  void setSeed(unsigned seed);

  template <class T> Buffer<T> upload(const std::vector<T> &values) {
    Buffer<T> buffer = allocate<T>(values.size());
    uploadBytes(buffer.data, values.data(), values.size() * sizeof(T));
    return buffer;
  }
  /// Contents that no test expects.
  template <class T> Buffer<T> allocate(size_t size) {
    return {allocateBytes(size * sizeof(T)), size};
  }
  template <class T> std::vector<T> download(const Buffer<T> &buffer) {
    std::vector<T> values(buffer.size);
    downloadBytes(values.data(), buffer.data, buffer.size * sizeof(T));
    return values;
  }

  /// `arguments` are the kernel's parameters in order and of exactly its types; buffers stand for
  /// pointers.
  template <class... Arguments>
  Launched launch(const char *kernel, const LaunchShape &shape, Arguments... arguments) {
    return launchWith(kernel, shape, argument(arguments)...);
  }

private:
  template <class T> static T argument(T value) { return value; }
  template <class T> static void *argument(const Buffer<T> &buffer) { return buffer.data; }

  template <class... Values>
  Launched launchWith(const char *kernel, const LaunchShape &shape, Values... values) {
    void *pointers[] = {&values..., nullptr};
    return launchPointers(kernel, shape, pointers);
  }

  void *allocateBytes(size_t bytes);
  void uploadBytes(void *to, const void *from, size_t bytes);
  void downloadBytes(void *to, const void *from, size_t bytes);
  Launched launchPointers(const char *kernel, const LaunchShape &shape, void **pointers);

  struct State;
  std::unique_ptr<State> state;
};

/// Values in [low, high), the same in every run.
inline std::vector<float> randomFloats(size_t count, unsigned seed, float low = -1,
                                       float high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = draw(generator);
  return values;
}

/// The seeds that every test runs with.
constexpr unsigned seeds[] = {1, 2, 3};

} // namespace kiln::cuda::test

#endif // KILN_UNITTESTS_TARGET_CUDA_KERNELRUNNER_H
