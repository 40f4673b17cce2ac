//===- ElementBuilder.cpp - One element of a tensor as code ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/ElementBuilder.h"
#include "kiln/Codegen/EmitExpr.h"
#include "kiln/Codegen/IndexMath.h"
#include "kiln/Codegen/KernelTable.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value ElementBuilder::element(Value tensor, ArrayRef<Value> index) {
  for (auto &[at, known] : memo[tensor])
    if (at == index)
      return known;
  auto remember = [&](Value value) {
    memo[tensor].push_back({Index(index), value});
    return value;
  };
  if (llvm::any_of(index, [](Value i) { return isa<VectorType>(i.getType()); }))
    return remember(eachLane(
        index, [&](ElementBuilder &e, ArrayRef<Value> at) { return e.element(tensor, at); }));
  if (auto source = sources.find(tensor); source != sources.end())
    return remember(source->second(*this, index));
  if (auto buffer = buffers.find(tensor); buffer != buffers.end())
    return remember(load(buffer->second, index));
  Operation *op = tensor.getDefiningOp();
  if (ElementsAttr constant = op && op->hasTrait<OpTrait::ConstantLike>()
                                  ? op->getAttrOfType<ElementsAttr>("value")
                                  : ElementsAttr())
    return remember(splatConstant(constant));
  const OpKernels *kernels = op ? table.find(op) : nullptr;
  ElementFn element = kernels && kernels->element ? kernels->element
                      : kernels                   ? kernels->fallback
                                                  : nullptr;
  assert(element && "the fuser puts only pullable ops in front");
  return remember(element(*this, op, cast<OpResult>(tensor).getResultNumber(), index));
}

Value ElementBuilder::eachLane(ArrayRef<Value> index,
                               function_ref<Value(ElementBuilder &, ArrayRef<Value>)> scalar) {
  ElementBuilder one = withLanes(1);
  SmallVector<Value> parts;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Index at(index);
    for (Value &i : at) {
      if (isa<VectorType>(i.getType()))
        i = vector::ExtractOp::create(b, loc, i, lane);
      else if (isConsecutive(i))
        i = arith::AddIOp::create(b, loc, i, this->index(lane));
    }
    parts.push_back(scalar(one, at));
  }
  failed |= one.failed;
  return vector::FromElementsOp::create(b, loc, VectorType::get({lanes}, parts[0].getType()),
                                        parts);
}

ElementBuilder ElementBuilder::withLanes(int64_t other) const {
  ElementBuilder result(b, loc, table, other);
  result.buffers = buffers;
  result.symbols = symbols;
  // Registers hold this builder's lanes, not the other's.
  for (auto &[tensor, source] : sources)
    result.sources[tensor] = [type = elementTypeOf(tensor)](ElementBuilder &e, ArrayRef<Value>) {
      return e.giveUp(type);
    };
  return result;
}

SmallVector<Value> ElementBuilder::loop(Value lower, Value upper, ValueRange init,
                                        function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  // What is computed inside does not dominate what comes after.
  auto saved = memo;
  auto op = scf::ForOp::create(b, loc, lower, upper, index(1), init,
                               [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                 OpBuilder::InsertionGuard guard(b);
                                 b.setInsertionPointToEnd(iv.getParentBlock());
                                 SmallVector<Value> next = body(iv, carried);
                                 scf::YieldOp::create(b, loc, next);
                               });
  memo = saved;
  return SmallVector<Value>(op.getResults());
}

Value ElementBuilder::splatConstant(ElementsAttr constant) {
  Type type = constant.getElementType();
  assert(constant.isSplat() && "other constants are inputs of the fusion");
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, constant.getSplatValue<FloatAttr>());
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(codeType(type), constant.getSplatValue<APInt>()));
}

Value ElementBuilder::broadcastElement(Value tensor, ArrayRef<Value> index,
                                       ArrayRef<Expr> indexShape) {
  Shape shape = shapeOf(tensor);
  size_t lead = index.size() - shape.size();
  Index at;
  for (auto [i, dim] : llvm::enumerate(shape)) {
    Value here = index[lead + i];
    if (dim.isConstant(1)) {
      here = this->index(0);
    } else if (dim != indexShape[lead + i]) {
      // Whether this dim is 1 is known at run time only.
      if (isConsecutive(here))
        return giveUp(elementTypeOf(tensor));
      Value one =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, size(dim), this->index(1));
      here = arith::SelectOp::create(b, loc, one, this->index(0), here);
    }
    at.push_back(here);
  }
  return element(tensor, at);
}

const Buffer *ElementBuilder::bufferOf(Value tensor) const {
  auto it = buffers.find(tensor);
  return it == buffers.end() ? nullptr : &it->second;
}

/// Elements between neighbouring lanes of an access, as an index value; null
/// when all lanes read one element. `contiguous` when it is 1.
static Value laneStride(ElementBuilder &e, ArrayRef<Value> index, ArrayRef<Value> sizes,
                        bool &contiguous) {
  Value total, stride = e.index(1);
  bool unit = true;
  contiguous = false;
  for (size_t i = index.size(); i-- > 0;) {
    if (e.isConsecutive(index[i])) {
      contiguous = !total && unit;
      total = total ? e.add(total, stride) : stride;
    }
    unit &= matchPattern(sizes[i], m_One());
    if (i)
      stride = e.mul(stride, sizes[i]);
  }
  return total;
}

/// Lane 0's position in memory: what lanes add is laneStride's business.
static Value positionOf(ElementBuilder &e, ArrayRef<Value> index, ArrayRef<Value> sizes) {
  OpBuilder &b = e.b;
  Location loc = e.loc;
  if (index.empty())
    return e.index(0);
  Value position = index[0];
  for (size_t i = 1; i < index.size(); ++i) {
    if (!matchPattern(position, m_Zero()))
      position = arith::MulIOp::create(b, loc, position, sizes[i]);
    if (matchPattern(position, m_Zero()))
      position = index[i];
    else if (!matchPattern(index[i], m_Zero()))
      position = arith::AddIOp::create(b, loc, position, index[i]);
  }
  return position;
}

Value ElementBuilder::load(const Buffer &buffer, ArrayRef<Value> index) {
  Value position = positionOf(*this, index, buffer.sizes);
  Type stored = cast<MemRefType>(buffer.memref.getType()).getElementType();
  bool contiguous;
  Value stride = lanes > 1 ? laneStride(*this, index, buffer.sizes, contiguous) : Value();
  Value value;
  if (!stride) {
    value = memref::LoadOp::create(b, loc, buffer.memref, position);
  } else if (contiguous) {
    value =
        vector::LoadOp::create(b, loc, VectorType::get({lanes}, stored), buffer.memref, position);
  } else {
    SmallVector<Value> parts;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value at = arith::AddIOp::create(b, loc, position,
                                       arith::MulIOp::create(b, loc, stride, this->index(lane)));
      parts.push_back(memref::LoadOp::create(b, loc, buffer.memref, at));
    }
    value = vector::FromElementsOp::create(b, loc, VectorType::get({lanes}, stored), parts);
  }
  if (!buffer.elementType.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

void ElementBuilder::store(Value element, const Buffer &buffer, ArrayRef<Value> index) {
  Value position = positionOf(*this, index, buffer.sizes);
  bool contiguous;
  Value stride = lanes > 1 ? laneStride(*this, index, buffer.sizes, contiguous) : Value();
  if (stride)
    element = splat(element);
  if (buffer.elementType.isInteger(1)) {
    Type byte = b.getI8Type();
    if (auto vector = dyn_cast<VectorType>(element.getType()))
      byte = VectorType::get(vector.getShape(), byte);
    element = arith::ExtUIOp::create(b, loc, byte, element);
  }
  if (!stride) {
    memref::StoreOp::create(b, loc, element, buffer.memref, position);
  } else if (contiguous) {
    vector::StoreOp::create(b, loc, element, buffer.memref, position);
  } else {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value at = arith::AddIOp::create(b, loc, position,
                                       arith::MulIOp::create(b, loc, stride, this->index(lane)));
      memref::StoreOp::create(b, loc, vector::ExtractOp::create(b, loc, element, lane),
                              buffer.memref, at);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sizes and indices
//===----------------------------------------------------------------------===//

Value ElementBuilder::size(const Expr &expr) {
  return emitExpr(b, loc, expr, [&](StringRef name) {
    Value value = symbols.lookup(name);
    assert(value && "the kernel was given every symbol that its types use");
    return value;
  });
}

Value ElementBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

Value ElementBuilder::scattered(Value x) {
  if (lanes == 1 || isa<VectorType>(x.getType()))
    return x;
  Value all = splat(x);
  if (!isConsecutive(x))
    return all;
  auto type = cast<VectorType>(all.getType());
  SmallVector<APInt> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.emplace_back(IndexType::kInternalStorageBitWidth, static_cast<uint64_t>(lane));
  return arith::AddIOp::create(
      b, loc, all, arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, steps)));
}

std::pair<Value, Value> ElementBuilder::unifyIndices(Value x, Value y) {
  if (isa<VectorType>(x.getType()) || isa<VectorType>(y.getType()))
    return {scattered(x), scattered(y)};
  return {x, y};
}

Value ElementBuilder::minIndex(Value x, Value y) {
  if (isConsecutive(x) || isConsecutive(y))
    x = scattered(x);
  std::tie(x, y) = unifyIndices(x, y);
  return arith::MinSIOp::create(b, loc, x, y);
}

Value ElementBuilder::maxIndex(Value x, Value y) {
  if (isConsecutive(x) || isConsecutive(y))
    x = scattered(x);
  std::tie(x, y) = unifyIndices(x, y);
  return arith::MaxSIOp::create(b, loc, x, y);
}

Value ElementBuilder::selectIndex(Value condition, Value x, Value y) {
  if (isConsecutive(x) || isConsecutive(y) || isa<VectorType>(condition.getType()))
    x = scattered(x);
  std::tie(x, y) = unifyIndices(x, y);
  return select(condition, x, y);
}

Value ElementBuilder::add(Value x, Value y) {
  if (matchPattern(x, m_Zero()))
    return y;
  if (matchPattern(y, m_Zero()))
    return x;
  std::tie(x, y) = unifyIndices(x, y);
  bool cx = isConsecutive(x), cy = isConsecutive(y);
  Value sum = arith::AddIOp::create(b, loc, x, y);
  if (cx && cy)
    giveUp(b.getIndexType());
  else if (cx || cy)
    setConsecutive(sum);
  return sum;
}

Value ElementBuilder::sub(Value x, Value y) {
  if (matchPattern(y, m_Zero()))
    return x;
  std::tie(x, y) = unifyIndices(x, y);
  bool cx = isConsecutive(x), cy = isConsecutive(y);
  Value difference = arith::SubIOp::create(b, loc, x, y);
  if (cy && !cx)
    giveUp(b.getIndexType());
  else if (cx && !cy)
    setConsecutive(difference);
  return difference;
}

Value ElementBuilder::mul(Value x, Value y) {
  if (matchPattern(x, m_One()))
    return y;
  if (matchPattern(y, m_One()))
    return x;
  std::tie(x, y) = unifyIndices(x, y);
  if (isConsecutive(x) || isConsecutive(y))
    giveUp(b.getIndexType());
  return arith::MulIOp::create(b, loc, x, y);
}

Value ElementBuilder::div(Value x, Value y) {
  if (matchPattern(y, m_One()))
    return x;
  std::tie(x, y) = unifyIndices(x, y);
  if (isConsecutive(x) || isConsecutive(y))
    giveUp(b.getIndexType());
  return IndexMath(b, loc).div(x, y);
}

Value ElementBuilder::rem(Value x, Value y) {
  if (matchPattern(y, m_One()))
    return index(0);
  std::tie(x, y) = unifyIndices(x, y);
  if (isConsecutive(x) || isConsecutive(y))
    giveUp(b.getIndexType());
  return IndexMath(b, loc).rem(x, y);
}

Value ElementBuilder::toIndex(Value element, Type elementType) {
  Type type = b.getIndexType();
  if (auto vector = dyn_cast<VectorType>(element.getType()))
    type = VectorType::get(vector.getShape(), type);
  if (isUnsigned(elementType))
    return arith::IndexCastUIOp::create(b, loc, type, element);
  return arith::IndexCastOp::create(b, loc, type, element);
}

Value ElementBuilder::toPlace(Value element, Type elementType, const Expr &dim) {
  Value at = toIndex(element, elementType), size = this->size(dim), zero = index(0);
  if (!isUnsigned(elementType))
    at = selectIndex(compare(arith::CmpIPredicate::slt, at, zero), add(at, size), at);
  return maxIndex(minIndex(at, sub(size, index(1))), zero);
}

Value ElementBuilder::fromIndex(Value index, Type elementType) {
  if (isConsecutive(index))
    index = scattered(index);
  Type type = b.getI64Type();
  if (auto vector = dyn_cast<VectorType>(index.getType()))
    type = VectorType::get(vector.getShape(), type);
  return convert(arith::IndexCastOp::create(b, loc, type, index), b.getI64Type(), elementType);
}

Value ElementBuilder::linearize(ArrayRef<Value> index, ArrayRef<Value> sizes) {
  if (index.empty())
    return this->index(0);
  Value position = index[0];
  for (size_t i = 1; i < index.size(); ++i)
    position = matchPattern(position, m_Zero()) ? index[i] : add(mul(position, sizes[i]), index[i]);
  return position;
}

Index ElementBuilder::delinearize(Value position, ArrayRef<Value> sizes) {
  Index index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = position;
      break;
    }
    index[i] = rem(position, sizes[i]);
    position = div(position, sizes[i]);
  }
  return index;
}

//===----------------------------------------------------------------------===//
// Arithmetic on elements
//===----------------------------------------------------------------------===//

Type ElementBuilder::codeType(Type elementType) const {
  return elementType.isInteger() ? b.getIntegerType(elementType.getIntOrFloatBitWidth())
                                 : elementType;
}

Value ElementBuilder::constant(Type elementType, double value) {
  if (isa<FloatType>(elementType))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(elementType, value));
  return intConstant(elementType, static_cast<int64_t>(value));
}

Value ElementBuilder::intConstant(Type elementType, int64_t value) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      b, loc,
      b.getIntegerAttr(b.getIntegerType(bits),
                       APInt(bits, static_cast<uint64_t>(value), false, true)));
}

Value ElementBuilder::splat(Value element) {
  if (lanes == 1 || isa<VectorType>(element.getType()))
    return element;
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, element.getType()), element);
}

void ElementBuilder::unify(MutableArrayRef<Value> values) {
  if (llvm::any_of(values, [](Value v) { return isa<VectorType>(v.getType()); }))
    for (Value &value : values)
      value = splat(value);
}

/// `scalar`, or a vector of it with the lanes that `like` has.
static Type withLanesOf(Value like, Type scalar) {
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return VectorType::get(vector.getShape(), scalar);
  return scalar;
}

/// Saturates; NaN gives 0.
static Value floatToInt(ElementBuilder &e, Value x, Type to) {
  OpBuilder &b = e.b;
  Type from = getElementTypeOrSelf(x);
  unsigned bits = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  auto splatOf = [&](Value scalar) {
    Value pair[] = {x, scalar};
    e.unify(pair);
    return pair[1];
  };
  auto floatValue = [&](double value) { return splatOf(e.constant(from, value)); };
  auto intValue = [&](int64_t value) { return splatOf(e.intConstant(to, value)); };
  Value low = floatValue(isUnsigned ? 0.0 : -std::ldexp(1.0, static_cast<int>(bits) - 1));
  Value limit = floatValue(std::ldexp(1.0, static_cast<int>(isUnsigned ? bits : bits - 1)));
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value c) {
    return arith::CmpFOp::create(b, e.loc, predicate, a, c);
  };
  Value small = compare(arith::CmpFPredicate::OLT, x, low),
        large = compare(arith::CmpFPredicate::OGE, x, limit);
  Value outside = arith::OrIOp::create(b, e.loc, compare(arith::CmpFPredicate::UNO, x, x),
                                       arith::OrIOp::create(b, e.loc, small, large));
  Value safe = arith::SelectOp::create(b, e.loc, outside, floatValue(0), x);
  Type target = withLanesOf(x, e.codeType(to));
  Value result = isUnsigned ? Value(arith::FPToUIOp::create(b, e.loc, target, safe))
                            : Value(arith::FPToSIOp::create(b, e.loc, target, safe));
  int64_t least = isUnsigned ? 0 : llvm::minIntN(bits);
  int64_t most = isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(bits)) : llvm::maxIntN(bits);
  result = arith::SelectOp::create(b, e.loc, large, intValue(most), result);
  return arith::SelectOp::create(b, e.loc, small, intValue(least), result);
}

Value ElementBuilder::convert(Value x, Type from, Type to) {
  if (from == to)
    return x;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  Type target = withLanesOf(x, codeType(to));
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (fromFloat && toFloat) {
    // Two halves of one width (f16, bf16) meet in f32.
    if (fromFloat.getWidth() == toFloat.getWidth())
      return convert(convert(x, from, b.getF32Type()), b.getF32Type(), to);
    if (fromFloat.getWidth() < toFloat.getWidth())
      return arith::ExtFOp::create(b, loc, target, x);
    return arith::TruncFOp::create(b, loc, target, x);
  }
  if (fromFloat)
    return floatToInt(*this, widen(x), to);
  if (toFloat) {
    Value wide = toFloat.getWidth() < 32 ? convert(x, from, b.getF32Type()) : Value();
    if (wide)
      return convert(wide, b.getF32Type(), to);
    if (isUnsigned(from))
      return arith::UIToFPOp::create(b, loc, target, x);
    return arith::SIToFPOp::create(b, loc, target, x);
  }
  unsigned width = from.getIntOrFloatBitWidth(), wanted = to.getIntOrFloatBitWidth();
  if (width == wanted)
    return x;
  if (width > wanted)
    return arith::TruncIOp::create(b, loc, target, x);
  if (isUnsigned(from))
    return arith::ExtUIOp::create(b, loc, target, x);
  return arith::ExtSIOp::create(b, loc, target, x);
}

Value ElementBuilder::widen(Value x) {
  Type type = getElementTypeOrSelf(x);
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32
             ? convert(x, type, b.getF32Type())
             : x;
}

Value ElementBuilder::narrow(Value x, Type elementType) {
  Type type = getElementTypeOrSelf(x);
  return isa<FloatType>(type) && isa<FloatType>(elementType) ? convert(x, type, elementType) : x;
}

Value ElementBuilder::select(Value condition, Value x, Value y) {
  Value all[] = {condition, x, y};
  unify(all);
  return arith::SelectOp::create(b, loc, all[0], all[1], all[2]);
}

Value ElementBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  if (isConsecutive(x) || isConsecutive(y))
    x = scattered(x);
  std::tie(x, y) = unifyIndices(x, y);
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}

Value ElementBuilder::branch(Value condition, function_ref<Value()> then,
                             function_ref<Value()> otherwise) {
  if (isa<VectorType>(condition.getType())) {
    Value value = then();
    return giveUp(getElementTypeOrSelf(value));
  }
  // What is computed inside does not dominate what comes after.
  auto saved = memo;
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  Value values[2];
  Block *blocks[2];
  function_ref<Value()> bodies[] = {then, otherwise};
  {
    OpBuilder::InsertionGuard guard(b);
    for (auto [i, body] : llvm::enumerate(bodies)) {
      blocks[i] = &state.addRegion()->emplaceBlock();
      b.setInsertionPointToEnd(blocks[i]);
      memo = saved;
      values[i] = body();
    }
    bool anyVector = isa<VectorType>(values[0].getType()) || isa<VectorType>(values[1].getType());
    for (int i : {0, 1}) {
      b.setInsertionPointToEnd(blocks[i]);
      scf::YieldOp::create(b, loc, anyVector ? splat(values[i]) : values[i]);
    }
    memo = saved;
    state.addTypes(blocks[0]->getTerminator()->getOperand(0).getType());
  }
  return b.create(state)->getResult(0);
}

Value ElementBuilder::giveUp(Type elementType) {
  failed = true;
  if (elementType.isIndex())
    return index(0);
  return constant(elementType, 0);
}
