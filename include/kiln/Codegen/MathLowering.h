//===- MathLowering.h - Functions as arithmetic -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The math dialect on scalars and fixed vectors. Functions of f32 that models
// use much become branch-free arithmetic, the same for lanes and for scalars,
// so that a value does not depend on where it lies in a row; the others, and
// all of f64, become calls of libm. Errors and costs: docs/math.md.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_MATHLOWERING_H
#define KILN_CODEGEN_MATHLOWERING_H

#include "kiln/Codegen/VectorTarget.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace kiln {

/// Lowers all functions of the math dialect but those that are instructions
/// (sqrt, floor, ceil, roundeven, abs, copysign and, where the target has it,
/// fma), and conversions of bf16 and from f64 to halves. What they make needs
/// no second visit: a walk is enough.
void populateKilnMathPatterns(mlir::RewritePatternSet &patterns, const VectorTarget &target);

/// Applies the patterns (kiln-lower-math). Run it on a module, before scf
/// becomes cf.
std::unique_ptr<mlir::Pass> createLowerMathPass(const VectorTarget &target = {});

/// Makes kiln-lower-math known to textual pipelines.
void registerLowerMathPass();

} // namespace kiln

#endif // KILN_CODEGEN_MATHLOWERING_H
