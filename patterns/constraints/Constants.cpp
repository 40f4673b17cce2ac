//===- Constants.cpp - Constraints on constants ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln/Patterns/Natives.h"
#include "kiln/Reference/TensorData.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kiln;

static bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

/// A float constant whose elements are all one number, as f64.
static Attribute scalarOf(Value value) {
  auto number = splatOf(value);
  if (!number || !isa<FloatType>(elementTypeOf(value)))
    return {};
  return FloatAttr::get(Float64Type::get(value.getContext()), *number);
}

static bool isSplatOf(Value value, Attribute wanted) {
  auto number = splatOf(value);
  auto attr = dyn_cast<FloatAttr>(wanted);
  return number && attr && isMeantBy(attr.getValueAsDouble(), *number);
}

/// Products and sums of two such constants neither overflow nor vanish.
static bool isModerate(Value value) {
  ElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)))
    return false;
  auto type = dyn_cast<FloatType>(elements.getElementType());
  auto data = type ? tensorDataOf(elements) : std::nullopt;
  if (!data)
    return false;
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  double most = std::ldexp(1, llvm::APFloat::semanticsMaxExponent(semantics) / 2);
  int64_t count = elements.isSplat() ? std::min<int64_t>(data->size(), 1) : data->size();
  for (int64_t i = 0; i < count; ++i) {
    double magnitude = std::abs(data->getFloat(i));
    if (!(magnitude == 0 || (magnitude <= most && magnitude >= 1 / most)))
      return false;
  }
  return true;
}

namespace kiln {
void registerConstantsNatives(NativeTable &table);
} // namespace kiln

void kiln::registerConstantsNatives(NativeTable &table) {
  table.constraint("Constant", {"value"}, "`value` is known at compile time.", isConstant)
      .wantsConstant = true;
  table
      .constraint("Splat", {"value", "number"},
                  "All elements of the constant `value` are `number`, within a half's precision.",
                  isSplatOf)
      .wantsConstant = true;
  table
      .constraint("Scalar", {"value"},
                  "The one number, as f64, that all elements of the constant `value` are.",
                  scalarOf)
      .wantsConstant = true;
  table
      .constraint("Moderate", {"value"},
                  "`value` is a float constant; squares of its elements are finite and not 0.",
                  isModerate)
      .wantsConstant = true;
  table.constraint("NotConstant", {"value"}, "`value` is not known at compile time.",
                   [](Value value) { return !isConstant(value); });
}
