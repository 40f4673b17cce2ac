//===- InstancePattern.h - What a pattern says of its graph -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_INSTANCEPATTERN_H
#define KILN_LIB_PATTERNS_INSTANCEPATTERN_H

#include "mlir/Dialect/PDL/IR/PDLOps.h"

namespace kiln {

bool holds(mlir::pdl::PatternOp pattern, llvm::StringRef op);
bool normalizes(mlir::pdl::PatternOp pattern);
/// Rows are groups of channels, [batch, groups, elements].
bool isOfGroups(mlir::pdl::PatternOp pattern);
/// What is read for whole planes of an image: the first operand of PerPlane.
mlir::Value planesOf(mlir::pdl::PatternOp pattern);
bool isOfImages(mlir::pdl::PatternOp pattern);

/// A constraint of one of these names is about the operand.
bool isAsked(mlir::Value pdlOperand, llvm::ArrayRef<llvm::StringRef> names);
/// A constraint of this name is about the op that reads the operand.
bool isAskedOfReader(mlir::Value pdlOperand, llvm::StringRef name);
/// Or about any op of the pattern.
bool asks(mlir::pdl::PatternOp pattern, llvm::StringRef name);
/// What constraints ask of a constant: null, a number, or anything.
std::optional<mlir::Attribute> wantedConstant(mlir::Value pdlOperand);

/// An op of a normalisation, spelled out or not, leads to `value` of a graph.
bool isBehindNormalization(mlir::Value value);

} // namespace kiln

#endif // KILN_LIB_PATTERNS_INSTANCEPATTERN_H
