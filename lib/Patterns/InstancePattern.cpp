//===- InstancePattern.cpp - What a pattern says of its graph -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstancePattern.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace kiln;

bool kiln::holds(pdl::PatternOp pattern, StringRef op) {
  return llvm::any_of(pattern.getOps<pdl::OperationOp>(),
                      [&](pdl::OperationOp one) { return one.getOpName() == op; });
}

bool kiln::normalizes(pdl::PatternOp pattern) {
  return holds(pattern, "kiln.standardize") || holds(pattern, "kiln.rms_normalize");
}

bool kiln::isOfGroups(pdl::PatternOp pattern) {
  return holds(pattern, "kiln.standardize") && holds(pattern, "kiln.reshape");
}

bool kiln::isBehindNormalization(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op)
    return false;
  StringRef name = op->getName().getStringRef();
  return name == "kiln.standardize" || name == "kiln.rms_normalize" || name == "kiln.sqrt" ||
         llvm::any_of(op->getOperands(), isBehindNormalization);
}

Value kiln::planesOf(pdl::PatternOp pattern) {
  for (auto call : pattern.getOps<pdl::ApplyNativeConstraintOp>())
    if (call.getName() == "PerPlane")
      return call.getArgs()[0];
  return nullptr;
}

bool kiln::isOfImages(pdl::PatternOp pattern) {
  return holds(pattern, "kiln.conv") || holds(pattern, "kiln.resize") || planesOf(pattern);
}

bool kiln::isAsked(Value pdlOperand, ArrayRef<StringRef> names) {
  return llvm::any_of(pdlOperand.getUsers(), [&](Operation *user) {
    auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(user);
    if (!call || call.getArgs()[0] != pdlOperand)
      return false;
    StringRef name = call.getName();
    name.consume_front("kiln.holds.");
    return llvm::is_contained(names, name);
  });
}

bool kiln::isAskedOfReader(Value pdlOperand, StringRef name) {
  return llvm::any_of(pdlOperand.getUsers(), [&](Operation *user) {
    auto reader = dyn_cast<pdl::OperationOp>(user);
    return reader && isAsked(reader.getOp(), name);
  });
}

bool kiln::asks(pdl::PatternOp pattern, StringRef name) {
  return llvm::any_of(pattern.getOps<pdl::ApplyNativeConstraintOp>(), [&](auto call) {
    StringRef called = call.getName();
    called.consume_front("kiln.holds.");
    return called == name;
  });
}

std::optional<Attribute> kiln::wantedConstant(Value pdlOperand) {
  std::optional<Attribute> wanted;
  for (Operation *user : pdlOperand.getUsers()) {
    auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(user);
    if (!call || call.getArgs()[0] != pdlOperand)
      continue;
    StringRef name = call.getName();
    name.consume_front("kiln.holds.");
    if (name == "Splat")
      if (auto number = call.getArgs()[1].getDefiningOp<pdl::AttributeOp>())
        return number.getValueAttr();
    if (name == "Scalar")
      wanted = UnitAttr::get(pdlOperand.getContext());
    else if (!wanted && (name == "Constant" || name == "Moderate"))
      wanted = Attribute();
  }
  return wanted;
}
