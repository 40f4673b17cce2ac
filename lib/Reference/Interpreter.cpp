//===- Interpreter.cpp - Evaluates blocks of ops --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Reference/Interpreter.h"
#include "dialects/Kiln/ops/Control/Control.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

std::optional<int64_t> Interpreter::evaluate(const Expr &expr) const {
  bool known = true;
  expr.forEachSymbol([&](StringRef name) { known &= symbols.contains(name); });
  if (!known)
    return std::nullopt;
  return expr.evaluate([&](StringRef name) { return symbols.lookup(name); });
}

std::optional<RankedTensorType> Interpreter::staticType(Type type) const {
  // Of what a machine can be asked to hold twice.
  constexpr int64_t maxElements = 1 << 26;
  SmallVector<int64_t> shape;
  int64_t count = 1;
  for (const Expr &size : shapeOf(type)) {
    auto value = evaluate(size);
    if (!value || *value < 0 || llvm::MulOverflow(count, *value, count) || count > maxElements)
      return std::nullopt;
    shape.push_back(*value);
  }
  return RankedTensorType::get(shape, cast<RankedTensorType>(type).getElementType());
}

FailureOr<SmallVector<TensorData>> Interpreter::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(run(&op)))
      return failure();
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return valueOf(value); });
}

LogicalResult Interpreter::run(Operation *op) {
  if (!spend())
    return failure();
  auto setConstant = [&](Value value) {
    ElementsAttr constant = constantOf(value);
    auto data = constant ? tensorDataOf(constant) : std::nullopt;
    if (data)
      values[value] = *data;
    return success(data.has_value());
  };
  if (op->hasTrait<OpTrait::ConstantLike>())
    return setConstant(op->getResult(0));
  for (Value operand : op->getOperands())
    if (!values.contains(operand) && failed(setConstant(operand)))
      return failure();
  if (isa<BindOp, RequireOp>(op))
    return runSymbolOp(op);
  if (isa<IfOp>(op))
    return runIf(op);
  if (isa<LoopOp>(op))
    return runLoop(op);
  if (auto fusion = dyn_cast<FusionOp>(op)) {
    Block &body = fusion.getBody().front();
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), fusion.getInputs()))
      setValue(argument, valueOf(input));
    auto results = run(body);
    if (failed(results))
      return failure();
    for (auto [result, data] : llvm::zip_equal(fusion.getOutputs(), *results))
      setValue(result, data);
    return success();
  }
  return runPlain(op);
}

LogicalResult Interpreter::runSymbolOp(Operation *op) {
  if (auto bind = dyn_cast<BindOp>(op)) {
    const TensorData &data = valueOf(bind.getTensor());
    for (auto [i, name] : llvm::enumerate(bind.getSymbols().getAsRange<StringAttr>()))
      setSymbol(name.getValue(), data.getInt(static_cast<int64_t>(i)));
    return success();
  }
  Shape pair = exprsOf(cast<RequireOp>(op).getPair());
  auto left = evaluate(pair[0]), right = evaluate(pair[1]);
  return success(left && right && *left == *right);
}

LogicalResult Interpreter::runIf(Operation *op) {
  auto branch = cast<IfOp>(op);
  bool holds = valueOf(branch.getCondition()).getInt(0) != 0;
  Region &region = holds ? branch.getThenRegion() : branch.getElseRegion();
  auto results = run(region.front());
  if (failed(results))
    return failure();
  for (const ControlSymbol &symbol : controlSymbols(branch)) {
    auto value = evaluate(holds ? symbol.first : symbol.second);
    if (!value)
      return failure();
    setSymbol(symbol.name.getValue(), *value);
  }
  for (auto [result, data] : llvm::zip_equal(branch.getOutputs(), *results))
    setValue(result, data);
  return success();
}

LogicalResult Interpreter::runLoop(Operation *op) {
  auto loop = cast<LoopOp>(op);
  SmallVector<ControlSymbol> own = controlSymbols(loop);
  // All at once: a size may depend on what another one was.
  auto define = [&](Expr ControlSymbol::*which) {
    SmallVector<std::optional<int64_t>> next;
    for (const ControlSymbol &symbol : own)
      next.push_back(evaluate(symbol.*which));
    for (auto [symbol, value] : llvm::zip_equal(own, next)) {
      if (!value)
        return failure();
      setSymbol(symbol.name.getValue(), *value);
    }
    return success();
  };
  auto trips = evaluate(loop.getTripCount());
  if (!trips || failed(define(&ControlSymbol::first)))
    return failure();
  auto carried = llvm::map_to_vector(loop.getInits(), [&](Value init) { return valueOf(init); });
  SmallVector<SmallVector<TensorData>> elements(loop.getStacks().size());
  Block &body = loop.getBody().front();
  bool goOn = true;
  for (int64_t i = 0; i < *trips && goOn; ++i) {
    if (!spend())
      return failure();
    setSymbol(loop.getIteration(), i);
    for (auto [argument, data] : llvm::zip_equal(body.getArguments(), carried))
      setValue(argument, data);
    auto yielded = run(body);
    if (failed(yielded) || failed(define(&ControlSymbol::second)))
      return failure();
    ArrayRef<TensorData> rest = *yielded;
    if (loop.getConditional()) {
      goOn = rest.front().getInt(0) != 0;
      rest = rest.drop_front();
    }
    carried.assign(rest.begin(), rest.begin() + carried.size());
    for (auto [list, element] : llvm::zip_equal(elements, rest.drop_front(carried.size())))
      list.push_back(element);
  }
  for (auto [result, data] : llvm::zip(loop.getOutputs(), carried))
    setValue(result, data);
  for (auto [stack, list] : llvm::zip_equal(loop.getStacks(), elements)) {
    auto type = staticType(stack.getType());
    if (!type)
      return failure();
    TensorData all(*type);
    char *to = all.mutableBytes();
    for (const TensorData &element : list) {
      std::memcpy(to, element.bytes(), static_cast<size_t>(element.byteSize()));
      to += element.byteSize();
    }
    setValue(stack, all);
  }
  return success();
}

/// An op is evaluated as a copy whose sizes are numbers.
LogicalResult Interpreter::runPlain(Operation *op) {
  bool known = true;
  auto numbers = [&](ArrayRef<StringAttr> texts) {
    Shape result;
    for (StringAttr text : texts) {
      auto value = evaluate(*Expr::parse(text.getValue()));
      known &= value.has_value();
      result.push_back(value.value_or(0));
    }
    return result;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](ExprsAttr attr) { return exprsAttr(attr.getContext(), numbers(attr.getExprs())); });
  replacer.addReplacement([&](RankedTensorType type) -> Type {
    auto numbered = staticType(type);
    known &= numbered.has_value();
    return numbered.value_or(type);
  });
  Block scratch;
  IRMapping map;
  SmallVector<TensorData> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(valueOf(operand));
    map.map(operand, scratch.addArgument(operands.back().type(), op->getLoc()));
  }
  OpBuilder b(op->getContext());
  b.setInsertionPointToEnd(&scratch);
  Operation *copy = b.clone(*op, map);
  replacer.replaceElementsIn(copy, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                             /*replaceTypes=*/true);
  auto results = known ? ::evaluate(table, copy, operands) : FailureOr<SmallVector<TensorData>>();
  if (failed(results))
    return failure();
  for (auto [result, data] : llvm::zip_equal(op->getResults(), *results))
    setValue(result, data);
  return success();
}
