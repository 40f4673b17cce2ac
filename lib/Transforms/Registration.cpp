//===- Registration.cpp - Passes by their flags ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Transforms/Passes.h"

using namespace mlir;

void kiln::registerTransformPasses(const ReferenceTable &references, const KernelTable &kernels,
                                   const VectorTarget &target) {
  registerPass([&] { return createFoldConstantsPass(references); });
  registerPass([&] { return createProveBatchPass(kernels); });
  registerPass([] { return createLowerPrecisionPass(); });
  registerPass([&] { return createFusePass(kernels); });
  registerPass([&] { return createPlanPass(kernels, target); });
  registerPass([&] { return createShareBuffersPass(kernels); });
}
