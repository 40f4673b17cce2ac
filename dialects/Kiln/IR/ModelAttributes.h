//===- ModelAttributes.h - What IR remembers of the model -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_MODELATTRIBUTES_H
#define KILN_DIALECTS_KILN_IR_MODELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace kiln {

// Discardable attributes that the importer sets and the planner reads.
//   on arguments and results of @main: the ONNX name, and the initialiser
//   behind an optional input;
inline constexpr llvm::StringLiteral nameAttr = "kiln.name", defaultAttr = "kiln.default";
//   on the module: the input symbols, their names in the model, their ranges.
inline constexpr llvm::StringLiteral symbolsAttr = "kiln.symbols",
                                     symbolNamesAttr = "kiln.symbol_names",
                                     lowerAttr = "kiln.lower", upperAttr = "kiln.upper";
//   set by kiln-prove-batch on the module, one of the two: the batch's axis in
//   each input, then each result, -1 without; or why rows do not stay apart.
inline constexpr llvm::StringLiteral batchAxesAttr = "kiln.batch_axes",
                                     batchObstacleAttr = "kiln.batch_obstacle";

} // namespace kiln

#endif // KILN_DIALECTS_KILN_IR_MODELATTRIBUTES_H
