//===- Pointwise.emit.cpp - Instantiates functions of elements ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Codegen/StoredType.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"
#include "lib/Target/CUDA/CodePrinter.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kiln;

namespace {
/// What of an operand the results read: PointwiseOperand's manyRows, manyColumns.
struct Reach {
  bool manyRows, manyColumns;
  bool operator==(const Reach &o) const {
    return manyRows == o.manyRows && manyColumns == o.manyColumns;
  }
};
} // namespace

/// How `index` of an operand follows from that of a result, whose axes from
/// `split` on are columns; nothing when it is no broadcast.
static std::optional<Reach> reachOf(ArrayRef<Value> index, ArrayRef<Expr> operand,
                                    ArrayRef<Value> result, ArrayRef<Expr> shape, size_t split) {
  if (index.size() > result.size())
    return std::nullopt;
  size_t missing = result.size() - index.size();
  auto spans = [&](size_t first, size_t last) -> std::optional<bool> {
    bool many = last > first, one = true;
    for (size_t d = first; d < last; ++d) {
      bool same =
          d >= missing && index[d - missing] == result[d] && operand[d - missing] == shape[d];
      many &= same;
      one &= d < missing || isConstantIntValue(index[d - missing], 0);
    }
    if (many || one)
      return many;
    return std::nullopt;
  };
  auto rows = spans(0, split), columns = spans(split, result.size());
  if (!rows || !columns)
    return std::nullopt;
  return Reach{*rows, *columns};
}

/// Results as a matrix whose columns are the axes from `split` on.
static std::optional<DeviceKernel> emitMatrix(TemplateWriter &w, Value result, size_t split) {
  Block &region = w.kernel.getBody().front();
  OpBuilder b(w.kernel.getContext());
  Shape shape = shapeOf(result);
  ArrayRef<Expr> rowDims = ArrayRef(shape).take_front(split),
                 columnDims = ArrayRef(shape).drop_front(split);

  SmallVector<TemplateWriter::Parameter> parameters;
  ElementBuilder types(b, w.kernel.getLoc(), w.table);
  for (auto [i, input] : llvm::enumerate(region.getArguments()))
    parameters.push_back({types.codeType(elementTypeOf(input)), "x" + std::to_string(i)});
  parameters.push_back({b.getIndexType(), "row"});
  parameters.push_back({b.getIndexType(), "col"});
  SmallVector<std::optional<Reach>> reaches(region.getNumArguments());
  bool isBroadcast = true;
  auto function = w.freeFunctor(
      "Function", parameters,
      [&](KernelBuilder &k, ValueRange given) {
        ElementBuilder e = k.elements();
        Index at = w.indexOf(e, given.drop_back().back(), rowDims);
        llvm::append_range(at, w.indexOf(e, given.back(), columnDims));
        for (auto [i, input] : llvm::enumerate(region.getArguments()))
          e.setSource(input, [&, i = i, input = input](ElementBuilder &, ArrayRef<Value> index) {
            auto reach = reachOf(index, shapeOf(input), at, shape, split);
            isBroadcast &= reach && (!reaches[i] || *reaches[i] == *reach);
            if (reach)
              reaches[i] = reach;
            return given[i];
          });
        return e.element(result, at);
      },
      {"", "", {}, /*onlyUsed=*/true});
  // The place itself may have no part in the value.
  if (!function || !isBroadcast || function->uses.back() || *(function->uses.end() - 2))
    return std::nullopt;

  Expr rows = elementCount(rowDims), columns = elementCount(columnDims);
  cuda::PointwiseDemand demand;
  demand.rows = w.guess(rows);
  demand.columns = w.guess(columns);
  demand.operations = function->operations;
  auto bytesOf = [](Value tensor) { return static_cast<int>(elementBytes(elementTypeOf(tensor))); };
  int widest = bytesOf(result);
  std::string list, arguments;
  for (auto [i, input] : llvm::enumerate(region.getArguments())) {
    if (!reaches[i] || !function->uses[i])
      return std::nullopt;
    auto [manyRows, manyColumns] = *reaches[i];
    std::string number = std::to_string(i);
    list += ", kiln::cuda::PointwiseOperand<" +
            CodePrinter::typeOf(storedType(elementTypeOf(input))) + ", " +
            (manyRows ? "true" : "false") + ", " + (manyColumns ? "true" : "false") + ", " +
            CodePrinter::typeOf(parameters[i].type) + ">";
    arguments += ", {in" + number + "}";
    widest = std::max(widest, bytesOf(input));
    demand.bytesPerElement += bytesOf(input) * (manyColumns ? 1 : 0);
    demand.operands += 1;
    demand.readBytes +=
        (manyRows ? demand.rows : 1) * (manyColumns ? demand.columns : 1) * bytesOf(input);
  }
  demand.writtenBytes = demand.rows * demand.columns * bytesOf(result);
  demand.widestVector = cuda::vectorBytes / widest;
  while (demand.widestVector > 1 && !Expr::divideExactly(columns, demand.widestVector))
    demand.widestVector /= 2;
  auto choice = cuda::choosePointwise(w.device, demand);
  if (!choice)
    return std::nullopt;
  const cuda::PointwiseConfig &config = choice->config;

  w.include("Pointwise/Pointwise.cuh");
  w.declare(function->declaration);
  w.declareShape("PointwiseShape", {config.threads, config.vector, config.perThread});
  std::string body = "  kiln::cuda::Pointwise<Shape, " +
                     CodePrinter::typeOf(storedType(elementTypeOf(result))) + ", Function" + list +
                     ">::run(out0, " + w.sizeText(rows) + ", " + w.sizeText(columns) + ", " +
                     function->value + arguments + ");\n";
  Expr vectors = rows * Expr::floorDiv(columns, config.vector);
  DeviceKernel made =
      w.finish("Pointwise", {{1, 1, 1}, config.threads, 0},
               {Expr::ceilDiv(vectors, config.threads * config.perThread), Expr(1), Expr(1)},
               choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

/// A loop over elements whose operands are read at the result's place, or broadcast
/// along the first or the last axes of it.
static std::optional<DeviceKernel> emitPointwise(TemplateWriter &w) {
  auto results = w.kernel.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1)
    return std::nullopt;
  for (size_t split = 0; split < shapeOf(results[0]).size(); ++split)
    if (auto made = emitMatrix(w, results[0], split))
      return made;
  return std::nullopt;
}

namespace kiln {
void registerPointwiseTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerPointwiseTemplate(TemplateTable &table) {
  table[loopFamily].push_back(emitPointwise);
}
