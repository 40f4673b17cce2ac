//===- ElementwiseBinary.import.cpp - Ops on two elements, broadcast, import ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Opset 7 brought NumPy broadcasting; older forms are not accepted at all.
template <typename OpTy> static FailureOr<SmallVector<Value>> importBinary(NodeImporter &n) {
  return SmallVector<Value>{n.create<OpTy>({n.input(0), n.input(1)})};
}

namespace kiln {
void registerElementwiseBinaryImporters(ImportTable &table);
} // namespace kiln

void kiln::registerElementwiseBinaryImporters(ImportTable &table) {
  table.add("Add", 7, importBinary<AddOp>);
  table.add("Sub", 7, importBinary<SubOp>);
  table.add("Mul", 7, importBinary<MulOp>);
  table.add("Div", 7, importBinary<DivOp>);
}
