//===- Instance.h - Random graphs that a pattern is about -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_INSTANCE_H
#define KILN_PATTERNS_INSTANCE_H

#include "kiln/Patterns/RuleLibrary.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <random>

namespace kiln {

using Random = std::mt19937_64;

/// What is changed so that a pattern should no longer match.
enum class Miss {
  None,
  Number, ///< a constant is another number
  Reader, ///< a value inside has a reader outside
  Order   ///< operands of an op that does not commute are exchanged
};

/// A module with a function @main of the ops that the pattern names, on random
/// operands: shapes, broadcasts, element types and attributes are drawn. Null
/// when the draw does not fit the ops; another one may.
mlir::OwningOpRef<mlir::ModuleOp> makeInstance(mlir::pdl::PatternOp pattern, Miss miss,
                                               Random &random);

//===----------------------------------------------------------------------===//
// Sizes of real models
//===----------------------------------------------------------------------===//

/// Some microseconds, some ten, some hundred or more on one core.
enum class InstanceSize { Small, Medium, Large };

inline constexpr InstanceSize allInstanceSizes[] = {InstanceSize::Small, InstanceSize::Medium,
                                                    InstanceSize::Large};
llvm::StringRef sizeName(InstanceSize size);
std::optional<InstanceSize> sizeNamed(llvm::StringRef name);

/// Element types that instances are made of, as MLIR spells them.
llvm::ArrayRef<llvm::StringLiteral> instanceTypes();

struct InstanceSpec {
  InstanceSize size = InstanceSize::Small;
  /// One of instanceTypes().
  std::string dtype;
  uint64_t seed = 0;
};

/// The same for an instance as models have it: all optional ops are there;
/// weights, biases and scales are constants, residuals and masks are inputs.
/// Equal arguments give equal modules, so that a record (Records.h) can name what
/// was measured. `pattern` is a name as in the rule's file.
mlir::OwningOpRef<mlir::ModuleOp> makeInstance(const Rule &rule, llvm::StringRef pattern,
                                               const InstanceSpec &spec,
                                               mlir::MLIRContext &context);

/// The variant of a pattern with all optional ops; null for an unknown name.
mlir::pdl::PatternOp fullestVariant(mlir::ModuleOp rule, llvm::StringRef pattern);

/// Names of a rule's patterns, as in its file and in the order of the alphabet.
std::vector<std::string> patternNames(const Rule &rule);

} // namespace kiln

#endif // KILN_PATTERNS_INSTANCE_H
