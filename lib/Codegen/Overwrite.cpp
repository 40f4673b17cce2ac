//===- Overwrite.cpp - Results in the place of operands -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Overwrite.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace kiln;

/// All ways from the value to the result are pointwise ops of its shape.
static bool isReadInStep(Value value, const KernelTable &table) {
  // There may be 2^ops ways: each value on them is visited once.
  llvm::SmallSetVector<Value, 8> onTheWay;
  onTheWay.insert(value);
  for (size_t i = 0; i < onTheWay.size(); ++i)
    for (Operation *user : onTheWay[i].getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        continue;
      const OpKernels *kernels = table.find(user);
      if (!kernels || !kernels->pointwise || user->getNumResults() != 1 ||
          shapeOf(user->getResult(0)) != shapeOf(value))
        return false;
      onTheWay.insert(user->getResult(0));
    }
  return true;
}

bool kiln::mayOverwrite(Block &body, unsigned argument, const KernelTable &table) {
  ValueRange results = body.getTerminator()->getOperands();
  Value value = body.getArgument(argument);
  if (results.size() != 1 || results[0].getType() != value.getType())
    return false;
  bool storesOnce = llvm::all_of(body.without_terminator(), [&](Operation &op) {
    const OpKernels *kernels = table.find(&op);
    return !kernels || !kernels->kernel || kernels->storesOnce;
  });
  return storesOnce && isReadInStep(value, table);
}
