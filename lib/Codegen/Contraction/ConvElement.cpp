//===- ConvElement.cpp - One element of a convolution ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For what the kernels decline: more spatial dims than three, weights that only
// the run knows.
//
//===----------------------------------------------------------------------===//

#include "Conv.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// A loop over [0, count) that carries a sum.
static Value sumOver(ElementBuilder &e, Value count, Value init,
                     function_ref<Value(Value at, Value sum)> body) {
  auto loop = scf::ForOp::create(e.b, e.loc, e.index(0), count, e.index(1), init,
                                 [&](OpBuilder &inner, Location, Value at, ValueRange carried) {
                                   OpBuilder::InsertionGuard guard(e.b);
                                   e.b.setInsertionPointToEnd(inner.getInsertionBlock());
                                   Value next = body(at, carried[0]);
                                   scf::YieldOp::create(e.b, e.loc, next);
                                 });
  e.forgetElements();
  return loop.getResult(0);
}

/// Input position that tap `tap` of an output reads in one dim, and whether it
/// exists.
static std::pair<Value, Value> inputOf(ElementBuilder &e, const ConvSpec &spec, size_t d,
                                       Value output, Value tap) {
  IndexMath math(e.b, e.loc);
  Value reach = math.mul(tap, spec.dilations[d]), pad = e.size(spec.pads[d]),
        stride = e.index(spec.strides[d]), zero = e.index(0), position;
  Value exists;
  auto both = [&](Value a, Value b) { return arith::AndIOp::create(e.b, e.loc, a, b); };
  if (spec.transposed) {
    Value spread = math.sub(math.add(output, pad), reach);
    exists = math.compare(arith::CmpIPredicate::sge, spread, zero);
    spread = math.max(spread, zero);
    position = math.div(spread, stride);
    exists = both(exists, math.compare(arith::CmpIPredicate::eq, math.rem(spread, stride), zero));
  } else {
    position = math.sub(math.add(math.mul(output, stride), reach), pad);
    exists = math.compare(arith::CmpIPredicate::sge, position, zero);
  }
  return {position, both(exists, math.compare(arith::CmpIPredicate::slt, position,
                                              e.size(shapeOf(spec.x)[d + 2])))};
}

Value kiln::convElement(ElementBuilder &e, const ConvSpec &spec, ArrayRef<Value> index) {
  Type type = elementTypeOf(spec.x), accumulator = accumulatorType(type);
  if (e.lanes > 1)
    return e.giveUp(type);
  IndexMath math(e.b, e.loc);
  Shape x = shapeOf(spec.x), w = shapeOf(spec.w);
  size_t spatial = x.size() - 2;
  Value groups = e.index(spec.group);
  Value outputs = spec.transposed ? e.size(w[1]) : math.div(e.size(w[0]), groups);
  Value channels = spec.transposed ? math.div(e.size(w[0]), groups) : e.size(w[1]);
  Value divisor = math.max(outputs, e.index(1));
  Value group = math.div(index[1], divisor), output = math.rem(index[1], divisor);
  Value zero = e.constant(accumulator, 0);
  SmallVector<Value> taps;

  std::function<Value(size_t, Value, Value)> overTaps = [&](size_t d, Value channel,
                                                            Value sum) -> Value {
    if (d < spatial)
      return sumOver(e, e.size(w[d + 2]), sum, [&](Value tap, Value sum) {
        taps.push_back(tap);
        Value result = overTaps(d + 1, channel, sum);
        taps.pop_back();
        return result;
      });
    Value wholeChannel = math.add(math.mul(group, channels), channel);
    Index from = {index[0], wholeChannel};
    Index weight = spec.transposed ? Index{wholeChannel, output} : Index{index[1], channel};
    Value exists;
    for (size_t i = 0; i < spatial; ++i) {
      auto [position, here] = inputOf(e, spec, i, index[i + 2], taps[i]);
      from.push_back(position);
      weight.push_back(taps[i]);
      exists = exists ? Value(arith::AndIOp::create(e.b, e.loc, exists, here)) : here;
    }
    Value input = e.branch(
        exists, [&] { return e.convert(e.element(spec.x, from), type, accumulator); },
        [&] { return zero; });
    Value factor = e.convert(e.element(spec.w, weight), type, accumulator);
    if (isa<FloatType>(accumulator))
      return arith::AddFOp::create(e.b, e.loc, sum,
                                   arith::MulFOp::create(e.b, e.loc, input, factor));
    return arith::AddIOp::create(e.b, e.loc, sum, arith::MulIOp::create(e.b, e.loc, input, factor));
  };
  Value sum = sumOver(e, channels, zero,
                      [&](Value channel, Value sum) { return overTaps(0, channel, sum); });
  return e.convert(sum, accumulator, type);
}
