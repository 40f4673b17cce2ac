//===- KernelHarness.h - Kernels against the reference ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To add a case, write the fusion's region as a function and name it:
//
//     TEST(MyFamily, AddBroadcasts) {
//       expectParity(R"(func.func @f(%a: tensor<?x7xf32, #kiln.dims<"s0">>, %b: tensor<7xf32>)
//                           -> tensor<?x7xf32, #kiln.dims<"s0">> {
//         %0 = kiln.add %a, %b : (tensor<?x7xf32, #kiln.dims<"s0">>, tensor<7xf32>)
//                                -> tensor<?x7xf32, #kiln.dims<"s0">>
//         return %0 : tensor<?x7xf32, #kiln.dims<"s0">> })");
//     }
//
// The function becomes a plan.kernel: its first op that is an anchor gives the
// family (none: the loop kernel). kiln.constant ops that are no splats become
// inputs, packed as the anchor's family asks. The code is made for several
// processors and run in process, cut into chunks, on random data, once for each
// choice of symbol values; results are compared with the reference evaluation.
// Memory ends at an inaccessible page, so reads and writes past it crash.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_TARGET_KERNELHARNESS_H
#define KILN_UNITTESTS_TARGET_KERNELHARNESS_H

#include "kiln/Reference/TensorData.h"
#include <functional>
#include <map>

namespace kiln {

struct ParityOptions {
  /// Values that the symbols take, in turns; several symbols get different
  /// ones at a time.
  std::vector<int64_t> sizes = {1, 2, 3, 5, 8, 15, 16, 17, 33, 0, 64, 67};
  /// Symbols that are bound to these values only, one binding an entry.
  std::map<std::string, std::vector<int64_t>> symbolValues;
  /// Allowed |got - want| is tolerance * max(1, |want|, scale); 0 picks one by
  /// the element type. Integers must be equal.
  double tolerance = 0;
  double scale = 1;
  /// Random elements lie in [low, high].
  double low = -2, high = 2;
  /// The same for one input.
  std::map<unsigned, std::pair<double, double>> ranges;
  /// Mixes in NaN, infinities, zeros of both signs and extreme integers.
  bool specials = false;
  /// Processors; those that this machine cannot run are left out.
  std::vector<std::string> cpus = {"native", "x86-64-v3", "x86-64-v2"};
};

void expectParity(llvm::StringRef function, const ParityOptions &options = {});

/// As above, for measuring.
struct Timing {
  /// The best of `rounds` runs at one choice of symbol values, one thread.
  double run;
  /// Of the processor, with the pass manager's set-up.
  double compile;
  size_t objectBytes;
};
Timing timeKernel(llvm::StringRef function, const std::map<std::string, int64_t> &symbols,
                  const std::string &cpu, int rounds = 20);

} // namespace kiln

#endif // KILN_UNITTESTS_TARGET_KERNELHARNESS_H
