//===- KernelBuilder.cpp - Builds one kernel ------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/EmitExpr.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;

static constexpr int64_t scratchAlignment = 64;

Expr KernelBuilder::reserveScratch(const Expr &bytes) {
  Expr offset = scratchBytes;
  scratchBytes = scratchBytes + Expr::ceilDiv(bytes, scratchAlignment) * Expr(scratchAlignment);
  return offset;
}

Value KernelBuilder::scratchBuffer(const Expr &byteOffset, const Expr &count, Type codeType) {
  auto type = MemRefType::get({ShapedType::kDynamic}, codeType);
  return memref::ViewOp::create(b, loc, type, scratch, size(byteOffset), ValueRange{size(count)});
}

const Buffer *KernelBuilder::memoryOf(Value value) {
  if (value == staged)
    return &outputs[0];
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && layouts[argument.getArgNumber()].empty() ? &inputs[argument.getArgNumber()]
                                                              : nullptr;
}

const Buffer *KernelBuilder::resultBufferOf(Value value) {
  if (aside)
    return nullptr;
  for (auto [i, result] : llvm::enumerate(results()))
    if (result == value)
      return &outputs[i];
  return nullptr;
}

int64_t KernelBuilder::commonLanes() {
  int64_t lanes = target.lanes(Float32Type::get(b.getContext()));
  auto consider = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      lanes = std::min(lanes, target.lanes(type.getElementType()));
  };
  for (Value argument : body->getArguments())
    consider(argument);
  for (Operation &op : *body)
    for (Value result : op.getResults())
      consider(result);
  return lanes;
}

ElementBuilder KernelBuilder::elements(int64_t lanes) {
  ElementBuilder e(b, loc, table, lanes);
  for (auto &entry : symbols)
    e.setSymbol(entry.getKey(), entry.getValue());
  for (auto [i, argument] : llvm::enumerate(body->getArguments()))
    e.setBuffer(argument, inputs[i]);
  if (staged)
    e.setBuffer(staged, outputs[0]);
  return e;
}

Value KernelBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value KernelBuilder::size(const Expr &expr) {
  return emitExpr(b, loc, expr, [&](StringRef name) { return symbols.lookup(name); });
}

void KernelBuilder::loop(Value lower, Value upper, int64_t step, LoopBody body) {
  scf::ForOp::create(b, loc, lower, upper, index(step), ValueRange{},
                     [&](OpBuilder &, Location, Value iv, ValueRange) {
                       OpBuilder::InsertionGuard guard(b);
                       b.setInsertionPointToEnd(iv.getParentBlock());
                       body(iv);
                       scf::YieldOp::create(b, loc);
                     });
}

SmallVector<Value> KernelBuilder::loop(Value lower, Value upper, int64_t step, ValueRange init,
                                       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, loc, lower, upper, index(step), init,
                               [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                 OpBuilder::InsertionGuard guard(b);
                                 b.setInsertionPointToEnd(iv.getParentBlock());
                                 SmallVector<Value> next = body(iv, carried);
                                 scf::YieldOp::create(b, loc, next);
                               });
  return SmallVector<Value>(op.getResults());
}

void KernelBuilder::branch(Value condition, function_ref<void()> then,
                           function_ref<void()> otherwise) {
  auto build = [&](function_ref<void()> body) {
    return [&, body](OpBuilder &inner, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(inner.getInsertionBlock());
      body();
      scf::YieldOp::create(b, loc);
    };
  };
  if (otherwise)
    scf::IfOp::create(b, loc, condition, build(then), build(otherwise));
  else
    scf::IfOp::create(b, loc, condition, build(then));
}

/// Lane counts of the loops that cover a range one after the other, down to 1:
/// a short step in between keeps long vectors from leaving many single elements.
static SmallVector<int64_t, 3> laneSteps(int64_t lanes) {
  SmallVector<int64_t, 3> steps;
  if (lanes > 1)
    steps.push_back(lanes);
  if (lanes >= 8)
    steps.push_back(std::max<int64_t>(4, lanes / 4));
  steps.push_back(1);
  return steps;
}

/// Upper - lower when both are constants.
static std::optional<int64_t> constantLength(Value lower, Value upper) {
  APInt from, to;
  if (!matchPattern(lower, m_ConstantInt(&from)) || !matchPattern(upper, m_ConstantInt(&to)))
    return std::nullopt;
  return to.getSExtValue() - from.getSExtValue();
}

Value KernelBuilder::endOfVectors(Value lower, Value upper, int64_t lanes) {
  auto length = constantLength(lower, upper);
  if (lanes == 1 || (length && *length % lanes == 0))
    return upper;
  // A range may end before it starts: then it is empty, and has no rest.
  Value count =
      arith::MaxSIOp::create(b, loc, arith::SubIOp::create(b, loc, upper, lower), index(0));
  Value rest = arith::RemUIOp::create(b, loc, count, index(lanes));
  return arith::SubIOp::create(b, loc, upper, rest);
}

void KernelBuilder::vectorLoop(Value lower, Value upper, int64_t lanes,
                               function_ref<void(ElementBuilder &, Value)> body) {
  for (int64_t step : laneSteps(lanes)) {
    if (lower == upper)
      return;
    Value end = endOfVectors(lower, upper, step);
    bool gaveUp = false;
    loop(lower, end, step, [&](Value iv) {
      ElementBuilder e = elements(step);
      if (step > 1)
        e.setConsecutive(iv);
      body(e, iv);
      gaveUp = e.gaveUp();
    });
    if (gaveUp && step > 1) {
      gaveUpLanes = true;
      std::prev(b.getInsertionPoint())->erase();
    } else {
      lower = end;
    }
  }
}

void KernelBuilder::nest(ArrayRef<Value> prefix, ArrayRef<Value> sizes, int64_t lanes,
                         function_ref<void(ElementBuilder &, ArrayRef<Value>)> body) {
  auto with = [&](Value i) {
    Index index(prefix);
    index.push_back(i);
    return index;
  };
  if (sizes.empty()) {
    ElementBuilder e = elements();
    return body(e, prefix);
  }
  if (sizes.size() == 1)
    return vectorLoop(index(0), sizes[0], lanes,
                      [&](ElementBuilder &e, Value i) { body(e, with(i)); });
  loop(index(0), sizes[0], 1, [&](Value i) { nest(with(i), sizes.drop_front(), lanes, body); });
}

SmallVector<Value> KernelBuilder::sizes(ArrayRef<Expr> shape) {
  SmallVector<Value> values;
  for (const Expr &dim : shape)
    values.push_back(size(dim));
  return values;
}

SmallVector<Value> KernelBuilder::vectorReduce(
    Value lower, Value upper, int64_t lanes, ValueRange init,
    function_ref<SmallVector<Value>(ElementBuilder &, Value, ValueRange)> step,
    function_ref<Value(unsigned, Value)> merge,
    function_ref<Value(unsigned, Value, Value)> combine) {
  SmallVector<Value> totals(init);
  for (int64_t count : laneSteps(lanes)) {
    if (lower == upper)
      break;
    Value end = endOfVectors(lower, upper, count);
    SmallVector<Value> start(totals);
    if (count > 1)
      for (auto [value, identity] : llvm::zip(start, init))
        value = vector::BroadcastOp::create(b, loc, VectorType::get({count}, identity.getType()),
                                            identity);
    bool gaveUp = false;
    SmallVector<Value> partial = loop(lower, end, count, start, [&](Value iv, ValueRange carried) {
      ElementBuilder e = elements(count);
      if (count > 1)
        e.setConsecutive(iv);
      SmallVector<Value> next = step(e, iv, carried);
      for (Value &value : next)
        value = e.splat(value);
      gaveUp = e.gaveUp();
      return next;
    });
    if (gaveUp && count > 1) {
      gaveUpLanes = true;
      std::prev(b.getInsertionPoint())->erase();
      continue;
    }
    lower = end;
    for (auto [i, value] : llvm::enumerate(partial))
      totals[i] = count > 1 ? combine(i, totals[i], merge(i, value)) : value;
  }
  return totals;
}

void KernelBuilder::storeResults(ElementBuilder &e, ArrayRef<Value> index) {
  if (aside) {
    Value row = e.linearize(index.drop_back(), sizes(ArrayRef(shapeOf(aside->value)).drop_back()));
    e.store(e.element(aside->value, index), aside->rows,
            {e.sub(row, aside->firstRow), index.back()});
    return;
  }
  for (auto [i, result] : llvm::enumerate(results()))
    e.store(e.element(result, index), outputs[i], index);
}
