//===- KernelRegion.cpp - A fusion's region in canonical form -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRegion.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kiln;

static SmallVector<Value> valuesOf(Block &body) {
  SmallVector<Value> values(body.getArguments());
  for (Operation &op : body)
    llvm::append_range(values, op.getResults());
  return values;
}

/// Its sizes would be renamed in its types only.
static bool hasSizeAttributes(Operation &op) {
  return llvm::any_of(op.getAttrs(),
                      [](NamedAttribute attr) { return isa<ExprsAttr>(attr.getValue()); });
}

/// Whether a user of `value` takes its result's shape from constants.
static bool meetsConstantsOnly(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return llvm::all_of(user->getOperands(),
                        [](Value operand) { return operand.getDefiningOp<ConstantOp>(); });
  });
}

SmallVector<NamedSize> kiln::mergeAxes(Block &body, const KernelTable &table) {
  ValueRange results = body.getTerminator()->getOperands();
  Shape shape = shapeOf(results[0]);
  for (Operation &op : body.without_terminator())
    if (!isa<ConstantOp>(op) &&
        (!table.find(&op) || !table.find(&op)->pointwise || hasSizeAttributes(op)))
      return {};
  SmallVector<Value> values = valuesOf(body);
  // spans[v][d]: value v has result axis d in full (else it is broadcast there).
  SmallVector<SmallVector<bool>> spans;
  for (Value value : values) {
    Shape own = shapeOf(value);
    if (own.size() > shape.size())
      return {};
    SmallVector<bool> span(shape.size() - own.size(), false);
    for (auto [dim, whole] : llvm::zip(own, ArrayRef(shape).take_back(own.size()))) {
      if (dim != whole && !dim.isConstant(1))
        return {};
      span.push_back(dim == whole);
    }
    spans.push_back(std::move(span));
  }
  SmallVector<SmallVector<size_t>> groups;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].isConstant(1))
      continue;
    bool alike = !groups.empty() && llvm::all_of(spans, [&](const SmallVector<bool> &span) {
      return span[axis] == span[groups.back().back()];
    });
    if (alike)
      groups.back().push_back(axis);
    else
      groups.push_back({axis});
  }
  SmallVector<NamedSize> names;
  Shape sizes;
  for (ArrayRef<size_t> group : groups) {
    Expr size = 1;
    for (size_t axis : group)
      size = size * shape[axis];
    if (!size.constant()) {
      std::string name = (size.isNonNegative() ? "size" : "%size") + std::to_string(names.size());
      names.push_back({name, std::exchange(size, Expr::symbol(name))});
    }
    sizes.push_back(size);
  }
  for (auto [value, span] : llvm::zip(values, spans)) {
    Shape merged;
    for (auto [group, size] : llvm::zip(groups, sizes))
      merged.push_back(span[group.front()] ? size : Expr(1));
    RankedTensorType type = tensorType(merged, elementTypeOf(value));
    // A splat is the same whatever its shape, and a scalar fits wherever another operand has the
    // result's.
    if (auto constant = value.getDefiningOp<ConstantOp>()) {
      auto splat = cast<DenseElementsAttr>(constant.getValue());
      if (!type.hasStaticShape() || !meetsConstantsOnly(value))
        type = RankedTensorType::get({}, type.getElementType());
      constant.setValueAttr(splat.resizeSplat(type));
    }
    value.setType(type);
  }
  return names;
}

SmallVector<NamedSize> kiln::renameSymbols(Operation *owner, Block &body) {
  llvm::MapVector<StringRef, Expr> renamed;
  auto note = [&](ArrayRef<StringAttr> texts) {
    for (StringAttr text : texts)
      Expr::parse(text.getValue())->forEachSymbol([&](StringRef name) {
        // StringRefs into a temporary would dangle: keep the context's copy.
        StringRef kept = StringAttr::get(owner->getContext(), name).getValue();
        if (renamed.contains(kept))
          return;
        std::string fresh = (name.starts_with("%") ? "%s" : "s") + std::to_string(renamed.size());
        renamed.insert({kept, Expr::symbol(fresh)});
      });
  };
  AttrTypeWalker walker;
  walker.addWalk([&](DimsAttr attr) { note(attr.getExprs()); });
  walker.addWalk([&](ExprsAttr attr) { note(attr.getExprs()); });
  for (BlockArgument argument : body.getArguments())
    walker.walk(argument.getType());
  for (Operation &op : body) {
    walker.walk(op.getAttrDictionary());
    for (Type type : op.getResultTypes())
      walker.walk(type);
  }

  auto rename = [&](ArrayRef<StringAttr> texts) {
    SmallVector<StringAttr> result;
    for (StringAttr text : texts) {
      Expr expr =
          Expr::parse(text.getValue())->substitute([&](StringRef name) -> std::optional<Expr> {
            return renamed.find(name)->second;
          });
      result.push_back(StringAttr::get(owner->getContext(), expr.str()));
    }
    return result;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](DimsAttr attr) { return DimsAttr::get(attr.getContext(), rename(attr.getExprs())); });
  replacer.addReplacement(
      [&](ExprsAttr attr) { return ExprsAttr::get(attr.getContext(), rename(attr.getExprs())); });
  for (BlockArgument argument : body.getArguments())
    argument.setType(replacer.replace(argument.getType()));
  for (Operation &op : body)
    replacer.replaceElementsIn(&op, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                               /*replaceTypes=*/true);

  SmallVector<NamedSize> names;
  for (auto &[outside, inside] : renamed)
    names.push_back({inside.symbolName().str(), Expr::symbol(outside)});
  return names;
}
