//===- Shapes.cpp - Constraints on types and shapes -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/TensorTypes.h"
#include "dialects/Kiln/ops/Conv/Conv.h"
#include "kiln/Patterns/Natives.h"

using namespace mlir;
using namespace kiln;

/// Element type of a value that a user's rule may bind to anything.
static Type elementOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getElementType() : Type();
}

/// `small` broadcasts to the shape of `large`, which does not grow.
static bool broadcastsTo(Value small, Value large) {
  auto joined = broadcastShapes(shapeOf(small), shapeOf(large));
  return succeeded(joined) && *joined == shapeOf(large);
}

/// The first of the axes that `reduction` folds, when those are all axes from
/// there to the last and stay as dims of one element.
static Attribute trailingAxes(Operation *reduction) {
  auto axes = reduction->getAttrOfType<DenseI64ArrayAttr>("axes");
  auto keepdims = reduction->getAttrOfType<BoolAttr>("keepdims");
  if (!axes || axes.empty() || !keepdims || !keepdims.getValue() ||
      reduction->getNumOperands() != 1)
    return {};
  int64_t rank = rankOf(reduction->getOperand(0)), first = rank - axes.size();
  for (auto [i, axis] : llvm::enumerate(axes.asArrayRef()))
    if (axis != first + static_cast<int64_t>(i))
      return {};
  return IntegerAttr::get(IntegerType::get(reduction->getContext(), 64), first);
}

static bool foldsSameAxes(Operation *a, Operation *b) {
  auto axes = a->getAttr("axes"), keepdims = a->getAttr("keepdims");
  return axes && keepdims && axes == b->getAttr("axes") && keepdims == b->getAttr("keepdims") &&
         rankOf(a->getOperand(0)) == rankOf(b->getOperand(0));
}

/// The one axis that `reduction` folds, when it stays as a dim of one element.
static Attribute singleAxis(Operation *reduction) {
  auto axes = reduction->getAttrOfType<DenseI64ArrayAttr>("axes");
  auto keepdims = reduction->getAttrOfType<BoolAttr>("keepdims");
  if (!axes || axes.size() != 1 || !keepdims || !keepdims.getValue())
    return {};
  return IntegerAttr::get(IntegerType::get(reduction->getContext(), 64), axes[0]);
}

static bool hasNoPadding(Operation *op) {
  auto pads = op->getAttrOfType<ExprsAttr>("pads");
  return pads && llvm::all_of(exprsOf(pads), [](const Expr &pad) { return pad.isConstant(0); });
}

static ArrayRef<int64_t> kernelOf(ConvOp conv) {
  return cast<RankedTensorType>(conv.getW().getType()).getShape().drop_front(2);
}

static bool isDepthwise(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  return conv && conv.getGroup() > 1 && shapeOf(conv.getW())[1].isConstant(1);
}

static bool isPointwise(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  return conv && conv.getGroup() == 1 && hasNoPadding(op) &&
         llvm::all_of(kernelOf(conv), [](int64_t size) { return size == 1; }) &&
         llvm::all_of(conv.getStrides(), [](int64_t stride) { return stride == 1; });
}

/// The permutation `back` undoes `there`.
static bool isInverse(Operation *back, Operation *there) {
  auto second = back->getAttrOfType<DenseI64ArrayAttr>("permutation");
  auto first = there->getAttrOfType<DenseI64ArrayAttr>("permutation");
  if (!first || !second || first.size() != second.size())
    return false;
  // Axis i of the end is axis second[i] of the middle, and first[second[i]] of the start.
  for (auto [i, axis] : llvm::enumerate(second.asArrayRef()))
    if (first[axis] != static_cast<int64_t>(i))
      return false;
  return true;
}

/// `vector` has, broadcast to `value`, one element for each index of axis 1.
static bool isPerChannel(Value vector, Value value) {
  Shape wide = shapeOf(value), narrow = shapeOf(vector);
  if (wide.size() < 2 || narrow.size() > wide.size() || !broadcastsTo(vector, value))
    return false;
  size_t missing = wide.size() - narrow.size();
  for (auto [i, dim] : llvm::enumerate(narrow))
    if (i + missing != 1 && !dim.isConstant(1))
      return false;
  return true;
}

/// `small` has, broadcast to `value`, one element for each plane of axes 2 and up.
static bool isPerPlane(Value small, Value value) {
  Shape narrow = shapeOf(small);
  return rankOf(value) > 2 && rankOf(small) == rankOf(value) && broadcastsTo(small, value) &&
         llvm::all_of(ArrayRef(narrow).drop_front(2),
                      [](const Expr &dim) { return dim.isConstant(1); });
}

/// The same as isPerChannel with one element for each index of the last axis.
static bool isPerColumn(Value vector, Value value) {
  Shape narrow = shapeOf(vector);
  if (rankOf(value) < 1 || !broadcastsTo(vector, value))
    return false;
  return narrow.empty() || llvm::all_of(ArrayRef(narrow).drop_back(),
                                        [](const Expr &dim) { return dim.isConstant(1); });
}

namespace kiln {
void registerShapesNatives(NativeTable &table);
} // namespace kiln

void kiln::registerShapesNatives(NativeTable &table) {
  table.constraint("DType", {"value", "type"}, "Element type: DType(x, attr<\"f32\">).",
                   [](Value value, Attribute type) {
                     auto wanted = dyn_cast<TypeAttr>(type);
                     return wanted && wanted.getValue() == elementOf(value);
                   });
  table.constraint("Float", {"value"}, "The elements of `value` are floating point.",
                   [](Value value) { return isa_and_nonnull<FloatType>(elementOf(value)); });
  table.constraint("SameType", {"a", "b"}, "`a` and `b` have one shape and element type.",
                   [](Value a, Value b) { return a.getType() == b.getType(); });
  table.constraint("StaticLastDim", {"value"}, "The last dim of `value` is known.",
                   [](Value value) {
                     auto type = dyn_cast<RankedTensorType>(value.getType());
                     return type && type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1);
                   });
  table.constraint("BroadcastsTo", {"small", "large"},
                   "`small` broadcasts to the shape of `large`.", broadcastsTo);
  table.constraint("PerChannel", {"vector", "value"},
                   "`vector` broadcasts to `value` and differs along axis 1 only.", isPerChannel);
  table.constraint("PerColumn", {"vector", "value"},
                   "`vector` broadcasts to `value` and differs along the last axis only.",
                   isPerColumn);
  table.constraint("PerPlane", {"small", "value"},
                   "`small` broadcasts to `value` and differs along axes 0 and 1 only.",
                   isPerPlane);
  table.constraint("Nested", {"a", "b"}, "One of the two broadcasts to the other's shape.",
                   [](Value a, Value b) { return broadcastsTo(a, b) || broadcastsTo(b, a); });
  table.constraint("SameAxes", {"a", "b"}, "Both reductions fold the same axes in the same way.",
                   foldsSameAxes);
  table.constraint("SingleAxis", {"reduction"}, "The one axis that is reduced, and kept.",
                   singleAxis);
  table.constraint("Inverse", {"back", "there"}, "The transpose `back` undoes `there`.", isInverse);
  table.constraint("NoPadding", {"op"}, "The convolution or pool `op` pads nothing.", hasNoPadding);
  table.constraint("Depthwise", {"op"}, "The convolution `op` has groups of one channel.",
                   isDepthwise);
  table.constraint("Pointwise", {"op"},
                   "The convolution `op` reads one pixel of all channels for each of its own.",
                   isPointwise);
  table.constraint("TrailingAxes", {"reduction"},
                   "The first of the reduced axes, which reach to the last and are kept.",
                   trailingAxes);
}
