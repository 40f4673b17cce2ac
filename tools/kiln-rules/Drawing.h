//===- Drawing.h - A rule's pattern, before and after -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_DRAWING_H
#define KILN_TOOLS_KILN_RULES_DRAWING_H

#include "kiln/Patterns/Natives.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"

namespace kiln {

/// What a pattern says, in words. Inputs are letters, in the order in which ops
/// read them; results are %1, %2 ...; constants of a known value are that value.
struct PatternDrawing {
  /// Lines of UTF-8: ops in boxes, before and after the rule.
  std::vector<std::string> lines;
  /// `PerColumn(c, %1)` and what it means.
  std::vector<std::pair<std::string, std::string>> constraints;
};

/// Of the variant with all optional ops, which are marked with a `?`.
PatternDrawing drawPattern(mlir::pdl::PatternOp pattern, const NativeTable &natives);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_DRAWING_H
