//===- Fusion.cpp - Fused groups of ops -----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult FusionOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("(C1) block arguments must have the types of the inputs");
  if (cast<YieldOp>(block.getTerminator()).getValues().getTypes() != getOutputs().getTypes())
    return emitOpError("(C2) yielded values must have the types of the outputs");
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Fusion/Fusion.cpp.inc"

namespace kiln {
void registerFusionOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerFusionOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Fusion/Fusion.cpp.inc"
      >();
}
