//===- ReferenceTable.cpp - Reference evaluation of ops -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

namespace kiln {
#define KILN_FAMILY(F) void register##F##References(ReferenceTable &);
#include "dialects/Kiln/ops/Families.reference.inc"
#undef KILN_FAMILY
} // namespace kiln

void kiln::registerReferences(ReferenceTable &table) {
#define KILN_FAMILY(F) register##F##References(table);
#include "dialects/Kiln/ops/Families.reference.inc"
#undef KILN_FAMILY
}

FailureOr<SmallVector<TensorData>> kiln::evaluate(const ReferenceTable &table, Operation *op,
                                                  ArrayRef<TensorData> operands) {
  ReferenceFn fn = table.find(op);
  if (!fn)
    return failure();
  SmallVector<TensorData> results;
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return failure();
    results.emplace_back(tensor);
  }
  if (failed(fn(op, operands, results)))
    return failure();
  return results;
}
