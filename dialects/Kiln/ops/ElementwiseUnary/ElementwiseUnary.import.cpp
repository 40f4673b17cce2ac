//===- ElementwiseUnary.import.cpp - Ops on one element, import -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// An operator that is one kiln op, whatever its version.
template <typename OpTy> static FailureOr<SmallVector<Value>> importUnary(NodeImporter &n) {
  return SmallVector<Value>{n.create<OpTy>({n.input(0)})};
}

namespace kiln {
void registerElementwiseUnaryImporters(ImportTable &table);
} // namespace kiln

void kiln::registerElementwiseUnaryImporters(ImportTable &table) {
  table.add("Relu", 1, importUnary<ReluOp>);
  table.add("Sigmoid", 1, importUnary<SigmoidOp>);
}
