//===- Overwrite.cpp - Results in the place of operands -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Overwrite.h"

using namespace mlir;
using namespace kiln;

/// All ways from the value to the result are pointwise ops of its shape.
static bool isReadInStep(Value value, const KernelTable &table) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return true;
    const OpKernels *kernels = table.find(user);
    return kernels && kernels->pointwise && user->getNumResults() == 1 &&
           shapeOf(user->getResult(0)) == shapeOf(value) && isReadInStep(user->getResult(0), table);
  });
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
