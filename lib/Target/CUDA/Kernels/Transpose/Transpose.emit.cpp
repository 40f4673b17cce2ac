//===- Transpose.emit.cpp - Instantiates exchanges of axes ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "kiln/Codegen/StoredType.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"
#include "lib/Target/CUDA/CodePrinter.h"

using namespace mlir;
using namespace kiln;

namespace {
/// An operand that holds the result's axes in another order.
struct Permuted {
  BlockArgument input;
  /// The result's axis that is each of its own.
  SmallVector<size_t> axes;
};

class TransposeEmitter {
public:
  TransposeEmitter(TemplateWriter &w, Value result)
      : w(w), result(result), shape(shapeOf(result)), b(w.kernel.getContext()) {}

  std::optional<DeviceKernel> emit();

private:
  /// The first operand whose last axis is not the result's.
  std::optional<Permuted> find();
  /// A functor of (batch, row, col) and, before them, `more`; `body` gets the
  /// result's index.
  std::optional<TemplateWriter::FreeFunctor> functor(
      StringRef name, SmallVector<TemplateWriter::Parameter> more,
      function_ref<Value(KernelBuilder &k, ElementBuilder &e, ValueRange given, ArrayRef<Value> at)>
          body);

  TemplateWriter &w;
  Value result;
  Shape shape;
  OpBuilder b;
  size_t rowAxis = 0, colAxis = 0;
  SmallVector<size_t> batchAxes;
};
} // namespace

std::optional<Permuted> TransposeEmitter::find() {
  // What may read elsewhere than at the result's place, or not at all, is left alone.
  for (Operation &op : w.kernel.getBody().front().without_terminator()) {
    const OpKernels *entry = w.table.find(&op);
    if (!entry || !(entry->pointwise || isa<TransposeOp>(op)))
      return std::nullopt;
  }
  auto inputs = w.kernel.getBody().front().getArguments();
  SmallVector<TemplateWriter::Parameter> parameters;
  for (size_t i = 0; i < shape.size(); ++i)
    parameters.push_back({b.getIndexType(), "i" + std::to_string(i)});
  std::optional<Permuted> found;
  auto probe = [&](KernelBuilder &k, ValueRange at) {
    ElementBuilder e = k.elements();
    for (BlockArgument input : inputs)
      e.setSource(input, [&, input](ElementBuilder &inner, ArrayRef<Value> index) {
        Permuted here{input, {}};
        Shape own = shapeOf(input);
        for (auto [i, value] : llvm::enumerate(index)) {
          auto axis = static_cast<size_t>(llvm::find(at, value) - at.begin());
          if (axis < shape.size() && own[i] == shape[axis])
            here.axes.push_back(axis);
        }
        if (!found && index.size() == shape.size() && here.axes.size() == shape.size() &&
            here.axes.back() + 1 != shape.size())
          found = here;
        return inner.load(*k.memoryOf(input), index);
      });
    return e.element(result, Index(at.begin(), at.end()));
  };
  return w.freeFunctor("Probe", parameters, probe) ? found : std::nullopt;
}

std::optional<TemplateWriter::FreeFunctor> TransposeEmitter::functor(
    StringRef name, SmallVector<TemplateWriter::Parameter> more,
    function_ref<Value(KernelBuilder &k, ElementBuilder &e, ValueRange given, ArrayRef<Value> at)>
        body) {
  size_t first = more.size();
  for (StringRef place : {"batch", "row", "col"})
    more.push_back({b.getIndexType(), place.str()});
  return w.freeFunctor(name, more, [&](KernelBuilder &k, ValueRange given) {
    ElementBuilder e = k.elements();
    Shape batchDims;
    for (size_t axis : batchAxes)
      batchDims.push_back(shape[axis]);
    Index batch = w.indexOf(e, given[first], batchDims);
    Index at(shape.size());
    for (auto [axis, value] : llvm::zip(batchAxes, batch))
      at[axis] = value;
    at[rowAxis] = given[first + 1];
    at[colAxis] = given[first + 2];
    return body(k, e, given, at);
  });
}

std::optional<DeviceKernel> TransposeEmitter::emit() {
  auto permuted = find();
  if (!permuted)
    return std::nullopt;
  rowAxis = shape.size() - 1;
  colAxis = permuted->axes.back();
  Shape batchDims;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (axis != rowAxis && axis != colAxis) {
      batchAxes.push_back(axis);
      batchDims.push_back(shape[axis]);
    }
  Type element = elementTypeOf(permuted->input);
  ElementBuilder types(b, w.kernel.getLoc(), w.table);
  Type code = types.codeType(element);
  auto placeIn = [&](ElementBuilder &e, ArrayRef<Value> index, ArrayRef<Expr> dims) {
    SmallVector<Value> sizes;
    for (const Expr &dim : dims)
      sizes.push_back(e.size(dim));
    return e.linearize(index, sizes);
  };
  auto from =
      functor("From", {}, [&](KernelBuilder &, ElementBuilder &e, ValueRange, ArrayRef<Value> at) {
        Index index;
        for (size_t axis : permuted->axes)
          index.push_back(at[axis]);
        return placeIn(e, index, shapeOf(permuted->input));
      });
  auto to =
      functor("To", {}, [&](KernelBuilder &, ElementBuilder &e, ValueRange, ArrayRef<Value> at) {
        return placeIn(e, at, shape);
      });
  auto function = functor(
      "Function", {{code, "value"}},
      [&](KernelBuilder &, ElementBuilder &e, ValueRange given, ArrayRef<Value> at) {
        Value value = given[0];
        e.setSource(permuted->input, [=](ElementBuilder &, ArrayRef<Value>) { return value; });
        return e.element(result, at);
      });
  if (!from || !to || !function)
    return std::nullopt;

  Expr batches = elementCount(batchDims);
  auto bytes = [&](Value tensor) {
    return w.guess(elementCount(shapeOf(tensor))) *
           static_cast<int64_t>(elementBytes(elementTypeOf(tensor)));
  };
  cuda::Traffic traffic;
  for (Value input : w.kernel.getBody().front().getArguments())
    traffic.readBytes += bytes(input);
  traffic.writtenBytes = traffic.uniqueWrittenBytes = bytes(result);
  traffic.uniqueReadBytes = traffic.readBytes;
  auto choice = cuda::chooseTranspose(w.device, w.guess(batches), w.guess(shape[rowAxis]),
                                      w.guess(shape[colAxis]), traffic,
                                      from->operations + to->operations + function->operations);
  if (!choice)
    return std::nullopt;
  const cuda::TransposeConfig &config = choice->config;
  w.include("Transpose/Transpose.cuh");
  w.declare(from->declaration);
  w.declare(to->declaration);
  w.declare(function->declaration);
  std::string body = "  kiln::cuda::TransposeAny<" + std::to_string(config.warps) + ", " +
                     CodePrinter::typeOf(code) + ", From, To, Function>::run(" +
                     w.inputOf(permuted->input) + ", out0, " + w.sizeText(batches) + ", " +
                     w.sizeText(shape[rowAxis]) + ", " + w.sizeText(shape[colAxis]) + ", " +
                     from->value + ", " + to->value + ", " + function->value + ");\n";
  constexpr int64_t mostAcross = 65535;
  Expr tiles =
      Expr::ceilDiv(shape[rowAxis], config.tile) * Expr::ceilDiv(shape[colAxis], config.tile);
  DeviceKernel made =
      w.finish("Transpose", {{1, 1, 1}, config.threads(), 0},
               {tiles, Expr::min(batches, mostAcross), Expr(1)}, choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

static std::optional<DeviceKernel> emitTranspose(TemplateWriter &w) {
  auto results = w.kernel.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || shapeOf(results[0]).size() < 2)
    return std::nullopt;
  return TransposeEmitter(w, results[0]).emit();
}

namespace kiln {
void registerTransposeTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerTransposeTemplate(TemplateTable &table) {
  table[loopFamily].push_back(emitTranspose);
}
