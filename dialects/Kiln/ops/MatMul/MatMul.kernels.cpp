//===- MatMul.kernels.cpp - Matrix product, kernels -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "kiln/Codegen/Contraction.h"

using namespace mlir;
using namespace kiln;

static MatMulSpec specOf(Operation *op) {
  auto matMul = cast<MatMulOp>(op);
  return {op, matMul.getA(), matMul.getB(), matMul.getTransA(), matMul.getTransB()};
}

static LogicalResult kernel(KernelBuilder &k, Operation *op) {
  return buildMatMulKernel(k, specOf(op));
}

static Value element(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return matMulElement(e, specOf(op), index);
}

static std::string layout(Operation *op, unsigned operand, const VectorTarget &target) {
  return operand == 1 ? matMulLayout(specOf(op), target) : "";
}

namespace kiln {
void registerMatMulKernels(KernelTable &table);
} // namespace kiln

void kiln::registerMatMulKernels(KernelTable &table) {
  table.addAnchor<MatMulOp>("matmul", kernel, /*pullsOperands=*/true, /*takesEpilogue=*/true,
                            Reads::Often);
  table.setPacking<MatMulOp>(layout, packMatMul);
  table.setStoresOnce<MatMulOp>();
  table.setCompletesRows<MatMulOp>();
  table.setFallback<MatMulOp>(element);
}
