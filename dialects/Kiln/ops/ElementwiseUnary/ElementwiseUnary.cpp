//===- ElementwiseUnary.cpp - Ops on one element --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.cpp.inc"

namespace kiln {
void registerElementwiseUnaryOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerElementwiseUnaryOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.cpp.inc"
      >();
}
