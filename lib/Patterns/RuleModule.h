//===- RuleModule.h - A rule file as a PDL module ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What mlir-pdll makes of a rule file is not fit to run: it may name ops and
// functions that do not exist (libmlir's matcher then calls another one), and it
// leaves out what would have to be repeated in every rule. These steps make a
// module that can be lowered without a crash. All report to the context's
// diagnostic handler, at the place in the .pdll file.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_RULEMODULE_H
#define KILN_LIB_PATTERNS_RULEMODULE_H

#include "kiln/Patterns/Natives.h"
#include "kiln/Patterns/RuleLibrary.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln {

// Natives that no author writes.
/// Began(rule, pattern, op...): the first call of an algebra rule's rewrite.
inline constexpr llvm::StringLiteral beganNative = "kiln.began";
/// Build(name, [attribute name...], attribute..., operand...) makes an op.
inline constexpr llvm::StringLiteral buildNative = "kiln.build";
/// Replace(op, by) puts an op or values in the place of an op.
inline constexpr llvm::StringLiteral replaceNative = "kiln.replace";
/// Erase(op) drops an op that nothing reads.
inline constexpr llvm::StringLiteral eraseNative = "kiln.erase";
/// Fuse(root, kernel, rule, pattern, op...).
inline constexpr llvm::StringLiteral fuseNative = "Fuse";

/// Holds(argument...) is a constraint without its results, Get(argument...) the
/// same as a rewrite.
inline std::string holdsNative(llvm::StringRef constraint) {
  return ("kiln.holds." + constraint).str();
}
inline std::string getNative(llvm::StringRef constraint) {
  return ("kiln.get." + constraint).str();
}

/// Gives each op with one result to its readers as a value, for PDLL makes ranges,
/// which among several operands match nothing; and to each reader as one of its
/// own, for where a result is used twice, libmlir does not check that both are
/// the same.
void normalizeResults(mlir::Operation *pdl);

/// Names and signatures of natives, names, operands and attributes of ops.
mlir::LogicalResult checkModule(mlir::ModuleOp pdl, const NativeTable &natives);

/// Each variable that a constraint or the rewrite reads is one that an op of the
/// pattern binds: natives would get null.
mlir::LogicalResult checkVariables(mlir::pdl::PatternOp pattern);

/// Fusion: all that a rewrite does is call Fuse. Fails when a file has rules of
/// both kinds, or none.
mlir::FailureOr<RuleKind> classify(mlir::ModuleOp pdl);

/// One pattern for each order of operands and each choice of optional ops;
/// names rules and matched ops in the rewrites. Verifies the result.
mlir::LogicalResult completeModule(mlir::ModuleOp pdl, llvm::StringRef rule, RuleKind kind,
                                   const NativeTable &natives);

/// The constraint that a constant is a number.
inline constexpr llvm::StringLiteral splatNative = "Splat";

/// What a graph must hold for the pattern to match: "kiln.add",
/// "kiln.add kiln.conv" for an add that reads a conv, "= 0.5" for a constant that
/// is a half, "kiln.elu{alpha = 2.0 : f64}" for one with this attribute. Sorted.
std::vector<std::string> needsOf(mlir::pdl::PatternOp pattern);

/// Families that the rules of a completed module ask for, sorted.
std::vector<std::string> kernelsOf(mlir::ModuleOp pdl);

mlir::LogicalResult lowerToInterp(mlir::ModuleOp pdl);

} // namespace kiln

#endif // KILN_LIB_PATTERNS_RULEMODULE_H
