//===- ImportTable.cpp - ONNX operators to kiln ops -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Import/ImportTable.h"
#include "dialects/Kiln/ops/Cast/Cast.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Expand/Expand.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Reference/TensorData.h"

using namespace mlir;
using namespace kiln;

namespace kiln {
#define KILN_FAMILY(F) void register##F##Importers(ImportTable &);
#include "dialects/Kiln/ops/Families.import.inc"
#undef KILN_FAMILY
} // namespace kiln

void kiln::registerImporters(ImportTable &table) {
#define KILN_FAMILY(F) register##F##Importers(table);
#include "dialects/Kiln/ops/Families.import.inc"
#undef KILN_FAMILY
}

Type kiln::elementTypeOfOnnx(MLIRContext *context, int64_t number) {
  Builder b(context);
  auto unsignedType = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (number) {
  case 1:
    return b.getF32Type();
  case 2:
    return unsignedType(8);
  case 3:
    return b.getIntegerType(8);
  case 4:
    return unsignedType(16);
  case 5:
    return b.getIntegerType(16);
  case 6:
    return b.getI32Type();
  case 7:
    return b.getI64Type();
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return unsignedType(32);
  case 13:
    return unsignedType(64);
  case 16:
    return b.getBF16Type();
  default:
    return nullptr;
  }
}

int64_t kiln::onnxNumberOf(Type elementType) {
  constexpr int64_t largestNumber = 16;
  for (int64_t number = 1; number <= largestNumber; ++number)
    if (elementTypeOfOnnx(elementType.getContext(), number) == elementType)
      return number;
  return 0;
}

ImportHandler ImportTable::find(StringRef op, int sinceVersion) const {
  auto it = handlers.find(op);
  if (it == handlers.end())
    return nullptr;
  auto version = it->second.upper_bound(sinceVersion);
  return version == it->second.begin() ? nullptr : std::prev(version)->second;
}

Value NodeImporter::create(StringRef opName, ValueRange operands,
                           ArrayRef<NamedAttribute> attributes) {
  for (Value operand : operands)
    if (!operand)
      return nullptr;
  auto op = tryBuild(b, loc, opName, operands, attributes);
  return succeeded(op) ? Value((*op)->getResult(0)) : nullptr;
}

void NodeImporter::requireBroadcast(Value a, Value b) {
  Shape x = shapeOf(a), y = shapeOf(b);
  for (auto [i, dims] : llvm::enumerate(llvm::zip(llvm::reverse(x), llvm::reverse(y)))) {
    auto [dim, other] = dims;
    requireBroadcast(dim, other,
                     opType() + "'s operands broadcast in dim -" + Twine(i + 1) + " (" + dim.str() +
                         " and " + other.str() + ")");
  }
}

Value NodeImporter::scalar(Type elementType, double value) {
  TensorData data(RankedTensorType::get({}, elementType));
  data.setFloat(0, value);
  return ConstantOp::create(b, loc, elementsAttr(data));
}

Value NodeImporter::int64s(ArrayRef<int64_t> values) {
  TensorData data(RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type()));
  for (auto [i, value] : llvm::enumerate(values))
    data.setInt(static_cast<int64_t>(i), value);
  return ConstantOp::create(b, loc, elementsAttr(data));
}

Value NodeImporter::reshape(Value value, ArrayRef<Expr> shape) {
  if (!value || shapeOf(value) == Shape(shape.begin(), shape.end()))
    return value;
  return create<ReshapeOp>({value}, {exprsNamed("shape", shape)});
}

Value NodeImporter::cast(Value value, Type elementType) {
  if (!value || elementTypeOf(value) == elementType)
    return value;
  return create<CastOp>({value}, {attr("to", TypeAttr::get(elementType))});
}

std::optional<SmallVector<double>> NodeImporter::constantFloats(Value value) const {
  ElementsAttr attr = value ? constantOf(value) : ElementsAttr();
  auto data = attr ? tensorDataOf(attr) : std::nullopt;
  if (!data)
    return std::nullopt;
  SmallVector<double> values;
  for (int64_t i = 0; i < data->size(); ++i)
    values.push_back(data->getFloat(i));
  return values;
}

Value NodeImporter::slice(Value value, ArrayRef<Expr> starts, ArrayRef<Expr> sizes) {
  if (!value || (shapeOf(value) == Shape(sizes) &&
                 llvm::all_of(starts, [](const Expr &e) { return e.isConstant(0); })))
    return value;
  return create<SliceOp>({value}, {exprsNamed("starts", starts), exprsNamed("sizes", sizes),
                                   exprsNamed("steps", Shape(starts.size(), 1))});
}

Value NodeImporter::broadcastTo(Value value, ArrayRef<Expr> shape) {
  if (!value || shapeOf(value) == Shape(shape))
    return value;
  return create<BroadcastToOp>({value}, {exprsNamed("shape", shape)});
}

Value NodeImporter::transpose(Value value, ArrayRef<int64_t> permutation) {
  return create<TransposeOp>({value}, {attr("permutation", permutation)});
}

LogicalResult kiln::placeOnAxes(NodeImporter &n, ArrayRef<Expr> axes, ArrayRef<AxisList> lists) {
  size_t rank = lists.front().all.size();
  SmallVector<bool> seen(rank, false);
  for (const AxisList &list : lists)
    if (list.given.size() != axes.size())
      return n.invalid(Twine(list.given.size()) + " numbers are given for " + Twine(axes.size()) +
                       " axes");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (auto known = axis.constant()) {
      auto at = normalizeAxis(*known, static_cast<int64_t>(rank));
      if (!at || seen[*at])
        return n.invalid("axis " + Twine(*known) + " is out of range or given twice for rank " +
                         Twine(rank));
      seen[*at] = true;
      for (const AxisList &list : lists)
        list.all[*at] = list.given[i];
      continue;
    }
    // Every axis is asked whether it is the one: 1 - |axis - a| is 1 or less.
    Expr isNegative = Expr::min(1, Expr::max(0, Expr(0) - axis));
    for (size_t a = 0; a < rank; ++a) {
      Expr distance =
          axis + Expr(static_cast<int64_t>(rank)) * isNegative - Expr(static_cast<int64_t>(a));
      Expr isHere = Expr::max(0, Expr(1) - Expr::max(distance, Expr(0) - distance));
      for (const AxisList &list : lists)
        list.all[a] = list.all[a] + (list.given[i] - list.all[a]) * isHere;
    }
  }
  return success();
}
