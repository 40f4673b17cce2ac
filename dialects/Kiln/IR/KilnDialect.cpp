//===- KilnDialect.cpp - The kiln dialect ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/KilnDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

#include "dialects/Kiln/IR/KilnDialect.cpp.inc"
#include "dialects/Kiln/IR/KilnInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Kiln/IR/KilnAttrs.cpp.inc"

void KilnDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Kiln/IR/KilnAttrs.cpp.inc"
      >();
}

void KilnDialect::initialize() {
  registerAttrs();
  registerFamilyOps(*this);
}

Operation *KilnDialect::materializeConstant(OpBuilder &b, Attribute value, Type type,
                                            Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  // By name: the dialect does not see the classes of its families.
  OperationState state(loc, "kiln.constant");
  state.addAttribute("value", value);
  state.addTypes(type);
  return b.create(state);
}

static LogicalResult verifyExprs(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> exprs) {
  for (StringAttr text : exprs) {
    auto expr = Expr::parse(text.getValue());
    if (!expr)
      return emitError() << "'" << text.getValue() << "' is not a size expression";
    if (expr->str() != text.getValue())
      return emitError() << "'" << text.getValue() << "' is not canonical: write '" << expr->str()
                         << "'";
  }
  return success();
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> exprs) {
  return verifyExprs(emitError, exprs);
}

LogicalResult ExprsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StringAttr> exprs) {
  return verifyExprs(emitError, exprs);
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  auto dynamic = llvm::count_if(shape, ShapedType::isDynamic);
  if (dynamic != static_cast<int64_t>(getExprs().size()))
    return emitError() << "#kiln.dims has " << getExprs().size() << " expressions for " << dynamic
                       << " dynamic dimensions";
  return success();
}
