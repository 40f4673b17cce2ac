//===- SymbolicValues.cpp - Elements of small integer tensors -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SymbolicValues.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Reference/TensorData.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kiln;

std::string kiln::symbolName(StringRef name) {
  std::string legal;
  for (char c : name)
    legal += llvm::isAlnum(c) || c == '_' || c == '.' ? c : '_';
  if (legal.empty() || llvm::isDigit(legal[0]) || legal[0] == '.')
    legal.insert(0, "s");
  return legal;
}

std::string SymbolicValues::claim(StringRef name) {
  std::string legal = symbolName(name), unique = legal;
  for (unsigned i = 1; !taken.insert(unique).second; ++i)
    unique = legal + "_" + llvm::utostr(i);
  return unique;
}

Expr SymbolicValues::fresh(StringRef hint, bool isSize) {
  return Expr::symbol((isSize ? "" : "%") + claim(hint));
}

/// Region::isAncestor wants regions that are some op's already.
static bool isInside(Value value, const Region &region) {
  for (Region *at = value.getParentRegion(); at;
       at = at->getParentOp() ? at->getParentOp()->getParentRegion() : nullptr)
    if (at == &region)
      return true;
  return false;
}

void SymbolicValues::forget(Region &region) {
  SmallVector<Value> inside;
  for (auto &entry : known)
    if (isInside(entry.first, region))
      inside.push_back(entry.first);
  for (Value value : inside)
    known.erase(value);
}

SmallVector<Expr> SymbolicValues::bind(Value value, OpBuilder &b, Location loc, StringRef hint,
                                       bool isSize) {
  int64_t count = cast<RankedTensorType>(value.getType()).getNumElements();
  SmallVector<Expr> symbols;
  SmallVector<Attribute> names;
  for (int64_t i = 0; i < count; ++i) {
    symbols.push_back(fresh((hint + "_" + llvm::Twine(i)).str(), isSize));
    names.push_back(b.getStringAttr(symbols.back().str()));
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(value);
  BindOp::create(b, loc, value, b.getArrayAttr(names));
  known[value] = symbols;
  return symbols;
}

static std::optional<SmallVector<Expr>> constantElements(Value value) {
  ElementsAttr attr = constantOf(value);
  auto data = attr ? tensorDataOf(attr) : std::nullopt;
  if (!data || !isa<IntegerType>(data->elementType()) || data->size() > SymbolicValues::maxElements)
    return std::nullopt;
  SmallVector<Expr> elements;
  for (int64_t i = 0; i < data->size(); ++i)
    elements.push_back(data->getInt(i));
  return elements;
}

std::optional<SmallVector<Expr>> SymbolicValues::resolve(Value value, Binder *binder) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  auto type = cast<RankedTensorType>(value.getType());
  if (!isa<IntegerType>(type.getElementType()) || !type.hasStaticShape() ||
      type.getNumElements() > maxElements)
    return std::nullopt;
  if (auto elements = constantElements(value))
    return elements;
  if (auto op = value.getDefiningOp<SymbolicValueInterface>()) {
    auto elements = op.symbolicValue([&](Value operand) { return resolve(operand, nullptr); });
    if (!elements && binder)
      elements = op.symbolicValue([&](Value operand) { return resolve(operand, binder); });
    if (elements) {
      known[value] = *elements;
      return elements;
    }
  }
  if (!binder)
    return std::nullopt;
  return bind(value, binder->b, binder->loc, binder->hint, /*isSize=*/false);
}

std::optional<SmallVector<Expr>> SymbolicValues::findOrBind(Value value, OpBuilder &b, Location loc,
                                                            StringRef hint) {
  Binder binder{b, loc, hint};
  return resolve(value, &binder);
}
