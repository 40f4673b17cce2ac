//===- ReverseSequence.kernels.cpp - Reversed beginnings, kernels ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value reverseSequence(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto reverse = ::cast<ReverseSequenceOp>(op);
  Value x = reverse.getX(), lengths = reverse.getLengths();
  size_t time = reverse.getTimeAxis();
  Value length =
      e.toIndex(e.element(lengths, index[reverse.getBatchAxis()]), elementTypeOf(lengths));
  length = e.minIndex(length, e.size(shapeOf(x)[time]));
  Value here = e.isConsecutive(index[time]) ? e.scattered(index[time]) : index[time];
  Value mirrored = e.sub(e.sub(length, e.index(1)), here);
  Index at(index);
  at[time] = e.selectIndex(e.compare(arith::CmpIPredicate::slt, here, length), mirrored, here);
  return e.element(x, at);
}

namespace kiln {
void registerReverseSequenceKernels(KernelTable &table);
} // namespace kiln

void kiln::registerReverseSequenceKernels(KernelTable &table) {
  table.addElement<ReverseSequenceOp>(reverseSequence);
}
