//===- Constant.cpp - Constants -------------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Constant/Constant.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult ConstantOp::verify() {
  // Sparse ones have no bytes to read.
  return isa<DenseElementsAttr, DenseResourceElementsAttr>(getValue())
             ? success()
             : emitOpError("has elements that are not dense");
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Constant/Constant.cpp.inc"

namespace kiln {
void registerConstantOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerConstantOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Constant/Constant.cpp.inc"
      >();
}
