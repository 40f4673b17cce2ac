//===- Gather.emit.cpp - Instantiates the choice of rows ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Gather/Gather.h"
#include "kiln/Codegen/StoredType.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"
#include "lib/Target/CUDA/CodePrinter.h"

using namespace mlir;
using namespace kiln;

/// Rows of a tensor in memory by indices in memory, and nothing around it: bits are
/// moved as they are.
static std::optional<DeviceKernel> emitGather(TemplateWriter &w) {
  Block &region = w.kernel.getBody().front();
  auto op = dyn_cast<GatherOp>(region.front());
  if (!op || region.getTerminator()->getOperands() != op->getResults() ||
      !isa<BlockArgument>(op.getX()) || !isa<BlockArgument>(op.getIndices()))
    return std::nullopt;
  Shape shape = shapeOf(op.getX());
  auto axis = static_cast<size_t>(op.getAxis());
  Type element = elementTypeOf(op.getX());
  int bytes = static_cast<int>(elementBytes(element));
  Expr outers = elementCount(ArrayRef(shape).take_front(axis)), length = shape[axis],
       inner = elementCount(ArrayRef(shape).drop_front(axis + 1)),
       indices = elementCount(shapeOf(op.getIndices())), rows = outers * indices;
  cuda::PointwiseDemand demand;
  demand.rows = w.guess(rows);
  demand.columns = w.guess(inner);
  demand.widestVector = w.vectorOf(inner, bytes);
  demand.operands = 1;
  demand.bytesPerElement = bytes;
  int64_t moved = demand.rows * demand.columns * bytes;
  demand.readBytes =
      moved + w.guess(indices) * static_cast<int64_t>(elementBytes(elementTypeOf(op.getIndices())));
  demand.writtenBytes = moved;
  auto choice = cuda::choosePointwise(w.device, demand);
  if (!choice)
    return std::nullopt;
  const cuda::PointwiseConfig &config = choice->config;
  std::string type = CodePrinter::typeOf(storedType(element));
  w.include("Gather/Gather.cuh");
  w.declareShape("PointwiseShape", {config.threads, config.vector, config.perThread});
  std::string body = "  kiln::cuda::Gather<Shape, " + type + ", kiln::cuda::Identity<" + type +
                     ">>::run(" + w.inputOf(op.getX()) + ", " + w.inputOf(op.getIndices()) +
                     ", out0, " + w.sizeText(outers) + ", " + w.sizeText(length) + ", " +
                     w.sizeText(inner) + ", " + w.sizeText(indices) + ", {});\n";
  Expr vectors = rows * Expr::floorDiv(inner, config.vector);
  DeviceKernel made =
      w.finish("Gather", {{1, 1, 1}, config.threads, 0},
               {Expr::ceilDiv(vectors, config.threads * config.perThread), Expr(1), Expr(1)},
               choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

namespace kiln {
void registerGatherTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerGatherTemplate(TemplateTable &table) { table[loopFamily].push_back(emitGather); }
