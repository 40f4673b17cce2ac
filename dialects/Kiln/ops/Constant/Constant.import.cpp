//===- Constant.import.cpp - Constants, import ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Constant/Constant.h"
#include "kiln/Import/ImportTable.h"
#include "kiln/Reference/TensorData.h"

using namespace mlir;
using namespace kiln;

template <typename T, typename SetFn>
static Value makeConstant(NodeImporter &n, Type type, ArrayRef<T> values, bool isScalar,
                          SetFn set) {
  SmallVector<int64_t> shape;
  if (!isScalar)
    shape.push_back(static_cast<int64_t>(values.size()));
  TensorData data(RankedTensorType::get(shape, type));
  for (auto [i, value] : llvm::enumerate(values))
    set(data, static_cast<int64_t>(i), value);
  return ConstantOp::create(n.b, n.loc, elementsAttr(data));
}

/// One of several attributes holds the value.
static FailureOr<SmallVector<Value>> importConstant(NodeImporter &n) {
  auto setInt = [](TensorData &data, int64_t i, int64_t value) { data.setInt(i, value); };
  auto setFloat = [](TensorData &data, int64_t i, double value) { data.setFloat(i, value); };
  Type i64 = n.b.getI64Type(), f32 = n.b.getF32Type();
  if (ElementsAttr value = n.tensorAttr("value"))
    return SmallVector<Value>{ConstantOp::create(n.b, n.loc, value)};
  if (auto value = n.intAttr("value_int"))
    return SmallVector<Value>{makeConstant<int64_t>(n, i64, *value, true, setInt)};
  if (auto values = n.intsAttr("value_ints"))
    return SmallVector<Value>{makeConstant<int64_t>(n, i64, *values, false, setInt)};
  if (auto value = n.floatAttr("value_float"))
    return SmallVector<Value>{makeConstant<double>(n, f32, *value, true, setFloat)};
  if (auto values = n.floatsAttr("value_floats"))
    return SmallVector<Value>{makeConstant<double>(n, f32, *values, false, setFloat)};
  return n.refuse("a constant of strings, or one that is sparse",
                  "a dense constant of a float, integer or bool type");
}

/// A splat: no element is stored twice, however many there are.
static FailureOr<SmallVector<Value>> importConstantOfShape(NodeImporter &n) {
  auto shape = n.exprs(0);
  if (failed(shape))
    return failure();
  Value scalar;
  if (n.tensorAttr("value")) {
    Value given = ConstantOp::create(n.b, n.loc, n.tensorAttr("value"));
    if (elementCount(shapeOf(given)) != Expr(1))
      return n.invalid("value does not have one element");
    scalar = ConstantOp::create(
        n.b, n.loc,
        elementsAttr(tensorDataOf(n.tensorAttr("value"))
                         ->reshaped(RankedTensorType::get({}, elementTypeOf(given)))));
  } else {
    scalar = n.scalar(n.b.getF32Type(), 0);
  }
  bool isKnown = true;
  for (const Expr &dim : *shape) {
    if (dim.constant().value_or(0) < 0)
      return n.invalid("the shape has the negative size " + dim.str());
    n.requireAtMost(0, dim, "sizes of ConstantOfShape are not negative");
    isKnown &= dim.constant().has_value();
  }
  if (!isKnown)
    return SmallVector<Value>{n.broadcastTo(scalar, *shape)};
  auto splat = cast<DenseElementsAttr>(constantOf(scalar));
  auto type = cast<ShapedType>(tensorType(*shape, elementTypeOf(scalar)));
  if (type.getNumElements() == 0)
    return SmallVector<Value>{
        ConstantOp::create(n.b, n.loc, elementsAttr(TensorData(cast<RankedTensorType>(type))))};
  return SmallVector<Value>{ConstantOp::create(n.b, n.loc, splat.resizeSplat(type))};
}

namespace kiln {
void registerConstantImporters(ImportTable &table);
} // namespace kiln

void kiln::registerConstantImporters(ImportTable &table) {
  table.add("Constant", 1, importConstant);
  table.add("ConstantOfShape", 9, importConstantOfShape);
}
