//===- Gather.kernels.cpp - Elements at computed places, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Gather/Gather.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value gather(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto gather = ::cast<GatherOp>(op);
  Value x = gather.getX(), indices = gather.getIndices();
  size_t axis = gather.getAxis(), rank = static_cast<size_t>(rankOf(indices));
  Index at(index.take_front(axis));
  at.push_back(e.toPlace(e.element(indices, index.slice(axis, rank)), elementTypeOf(indices),
                         shapeOf(x)[axis]));
  llvm::append_range(at, index.drop_front(axis + rank));
  return e.element(x, at);
}

static Value gatherElements(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto gather = ::cast<GatherElementsOp>(op);
  Value x = gather.getX(), indices = gather.getIndices();
  Index at(index);
  at[gather.getAxis()] =
      e.toPlace(e.element(indices, index), elementTypeOf(indices), shapeOf(x)[gather.getAxis()]);
  return e.element(x, at);
}

static Value gatherND(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto gather = ::cast<GatherNDOp>(op);
  Value x = gather.getX(), indices = gather.getIndices();
  Shape dims = shapeOf(x);
  size_t batch = gather.getBatchDims(), lead = static_cast<size_t>(rankOf(indices)) - 1;
  Index at(index.take_front(batch)), tuple(index.take_front(lead));
  tuple.emplace_back();
  for (int64_t i = 0, depth = *shapeOf(indices).back().constant(); i < depth; ++i) {
    tuple.back() = e.index(i);
    at.push_back(e.toPlace(e.element(indices, tuple), elementTypeOf(indices),
                           dims[batch + static_cast<size_t>(i)]));
  }
  llvm::append_range(at, index.drop_front(lead));
  return e.element(x, at);
}

namespace kiln {
void registerGatherKernels(KernelTable &table);
} // namespace kiln

void kiln::registerGatherKernels(KernelTable &table) {
  table.addElement<GatherOp>(gather, Reads::Often);
  table.addElement<GatherElementsOp>(gatherElements, Reads::Often);
  table.addElement<GatherNDOp>(gatherND, Reads::Often);
}
