//===- PullCost.cpp - What pulling an element costs -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost is counted, not listed: the code for one vector is built beside the
// program and thrown away. So a new op needs no entry anywhere.
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/PullCost.h"
#include "kiln/Codegen/StoredType.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace kiln;

static constexpr unsigned costOfFunction = 16;
static constexpr int64_t probeLanes = 8;

unsigned kiln::vectorCost(Block &block) {
  unsigned cost = 0;
  for (Operation &op : block) {
    bool onVector = llvm::any_of(op.getOperandTypes(), llvm::IsaPred<VectorType>) ||
                    llvm::any_of(op.getResultTypes(), llvm::IsaPred<VectorType>);
    if (!onVector || op.hasTrait<OpTrait::ConstantLike>() ||
        isa<vector::LoadOp, vector::StoreOp>(op))
      continue;
    bool isFunction =
        isa<math::MathDialect>(op.getDialect()) && !isa<math::FmaOp, math::AbsFOp>(op);
    bool isLong = isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(op) || op.getNumRegions();
    cost += isFunction || isLong ? costOfFunction : 1;
  }
  return cost;
}

unsigned kiln::pullCost(Operation *op, const KernelTable &table) {
  const OpKernels *kernels = table.find(op);
  auto block = std::make_unique<Block>();
  OpBuilder b(op->getContext());
  b.setInsertionPointToEnd(block.get());
  Location loc = op->getLoc();
  Type indexType = b.getIndexType();
  ElementBuilder e(b, loc, table, probeLanes);
  AttrTypeWalker walker;
  auto note = [&](ArrayRef<StringAttr> texts) {
    for (StringAttr text : texts)
      Expr::parse(text.getValue())->forEachSymbol([&](StringRef name) {
        e.setSymbol(name, block->addArgument(indexType, loc));
      });
  };
  walker.addWalk([&](DimsAttr attr) { note(attr.getExprs()); });
  walker.addWalk([&](ExprsAttr attr) { note(attr.getExprs()); });
  walker.walk(op->getAttrDictionary());
  for (Type type : op->getOperandTypes())
    walker.walk(type);
  for (Type type : op->getResultTypes())
    walker.walk(type);
  for (Value operand : op->getOperands()) {
    Type type = elementTypeOf(operand);
    Buffer buffer;
    buffer.elementType = type;
    buffer.memref =
        block->addArgument(MemRefType::get({ShapedType::kDynamic}, storedType(type)), loc);
    for (const Expr &dim : shapeOf(operand))
      buffer.sizes.push_back(e.size(dim));
    e.setBuffer(operand, std::move(buffer));
  }
  Index index;
  for (int64_t d = 0; d < rankOf(op->getResult(0)); ++d)
    index.push_back(block->addArgument(indexType, loc));
  if (!index.empty())
    e.setConsecutive(index.back());
  (void)kernels->element(e, op, 0, index);
  unsigned cost = e.gaveUp() ? costOfFunction : vectorCost(*block);
  block->dropAllReferences();
  block->clear();
  return cost;
}
