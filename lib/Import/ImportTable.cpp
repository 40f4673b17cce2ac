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
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Reference/TensorData.h"
#include <limits>

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
  case 17:
    return b.getType<Float8E4M3FNType>();
  case 18:
    return b.getType<Float8E4M3FNUZType>();
  case 19:
    return b.getType<Float8E5M2Type>();
  case 20:
    return b.getType<Float8E5M2FNUZType>();
  case 21:
    return unsignedType(4);
  case 22:
    return b.getIntegerType(4);
  case 23:
    return b.getType<Float4E2M1FNType>();
  case 25:
    return unsignedType(2);
  case 26:
    return b.getIntegerType(2);
  case 27:
    return b.getType<Float6E2M3FNType>();
  case 28:
    return b.getType<Float6E3M2FNType>();
  default:
    return nullptr;
  }
}

int64_t kiln::onnxNumberOf(Type elementType) {
  constexpr int64_t largestNumber = 28;
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
    require(dim, other,
            opType() + "'s operands broadcast in dim -" + Twine(i + 1) + " (" + dim.str() +
                " and " + other.str() + ")",
            Relation::Broadcast);
  }
}

void NodeImporter::requireRange(Value integers, const Expr &low, const Expr &high,
                                const Twine &what) {
  // A range of nothing holds no number, but what is empty fits it: the number
  // that stands for what is empty is `low`.
  Expr bound = Expr::max(low, high);
  if (bound != high)
    requireAtMost(Expr::min(1, elementCount(shapeOf(integers))), high - low + Expr(1),
                  "no " + what + " fits an empty dimension");
  auto within = [&](const Expr &least, const Expr &most) {
    requireAtMost(low, least, low.str() + " <= " + what);
    requireAtMost(most, bound, what + " <= " + high.str());
  };
  ElementsAttr constant = constantOf(integers);
  if (auto data = constant ? tensorDataOf(constant) : std::nullopt) {
    int64_t least = std::numeric_limits<int64_t>::max(), most = -least - 1;
    for (int64_t i = 0; i < data->size(); ++i) {
      least = std::min(least, data->getInt(i));
      most = std::max(most, data->getInt(i));
    }
    if (data->size())
      within(least, most);
    return;
  }
  // A few that are computed from sizes need no reading.
  constexpr size_t few = 4;
  if (auto known = knownExprs(integers); known && known->size() <= few) {
    for (const Expr &number : *known)
      within(number, number);
    return;
  }
  if (rankOf(integers) == 0)
    integers = reshape(integers, {1});
  if (Value farthest = create<FarthestOp>({integers}, {exprsNamed("low", {low})})) {
    Expr number = bind(farthest, "index").front();
    within(number, number);
  }
}

void NodeImporter::requireTuples(Value tuples, ArrayRef<Expr> dims, const Twine &what) {
  Shape starts(static_cast<size_t>(rankOf(tuples)), 0), sizes = shapeOf(tuples);
  sizes.back() = 1;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    starts.back() = static_cast<int64_t>(i);
    requireIndices(slice(tuples, starts, sizes), dim, what);
  }
}

std::optional<SmallVector<int64_t>> NodeImporter::constantInts(Value value) const {
  auto elements = knownExprs(value);
  SmallVector<int64_t> ints;
  for (const Expr &element : elements.value_or(Shape())) {
    if (!element.constant())
      return std::nullopt;
    ints.push_back(*element.constant());
  }
  return elements ? std::optional(ints) : std::nullopt;
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

Value NodeImporter::oneElement(Value value, const Twine &what) {
  if (!value)
    return nullptr;
  Expr count = elementCount(shapeOf(value));
  if (count == Expr(1))
    return value;
  if (count.constant()) {
    (void)invalid(what + " is not one element");
    return nullptr;
  }
  require(count, 1, what + " is one element");
  return reshape(value, {});
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
  SmallVector<Shape> before;
  for (const AxisList &list : lists) {
    before.push_back(list.all);
    if (list.given.size() != axes.size())
      return n.invalid(Twine(list.given.size()) + " numbers are given for " + Twine(axes.size()) +
                       " axes");
  }
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
    // An axis comes once, so that what is given may be added up.
    Expr isNegative = Expr::min(1, Expr::max(0, Expr(0) - axis));
    for (size_t a = 0; a < rank; ++a) {
      Expr distance =
          axis + Expr(static_cast<int64_t>(rank)) * isNegative - Expr(static_cast<int64_t>(a));
      Expr isHere = Expr::max(0, Expr(1) - Expr::max(distance, Expr(0) - distance));
      for (auto [list, initial] : llvm::zip_equal(lists, before))
        list.all[a] = list.all[a] + (list.given[i] - initial[a]) * isHere;
    }
  }
  return success();
}
