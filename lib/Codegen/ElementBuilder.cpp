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
  if (isSmallFloat(type)) {
    APInt bits = constant.getSplatValue<APFloat>().bitcastToAPInt();
    return intConstant(b.getI8Type(), static_cast<int64_t>(bits.getZExtValue()));
  }
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
    } else if (dim != indexShape[lead + i] && !dim.constant()) {
      // Whether this dim is 1 is known at run time only.
      if (isConsecutive(here))
        return giveUp(elementTypeOf(tensor));
      Value one =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, size(dim), this->index(1));
      here = select(one, this->index(0), here);
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
  Type type = buffer.elementType;
  if (!type.isInteger() || type.getIntOrFloatBitWidth() >= 8)
    return value;
  if (!type.isInteger(1))
    return arith::TruncIOp::create(b, loc, withLanesOf(value, codeType(type)), value);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

void ElementBuilder::store(Value element, const Buffer &buffer, ArrayRef<Value> index) {
  Value position = positionOf(*this, index, buffer.sizes);
  bool contiguous;
  Value stride = lanes > 1 ? laneStride(*this, index, buffer.sizes, contiguous) : Value();
  if (stride)
    element = splat(element);
  if (Type type = buffer.elementType; type.isInteger() && type.getIntOrFloatBitWidth() < 8) {
    Type byte = withLanesOf(element, b.getI8Type());
    element = isUnsigned(type) ? Value(arith::ExtUIOp::create(b, loc, byte, element))
                               : Value(arith::ExtSIOp::create(b, loc, byte, element));
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
