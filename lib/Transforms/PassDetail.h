//===- PassDetail.h - Base classes of the passes ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TRANSFORMS_PASSDETAIL_H
#define KILN_LIB_TRANSFORMS_PASSDETAIL_H

#include "kiln/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln {
#define GEN_PASS_DECL
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#define GEN_PASS_DEF_FUSEPASS
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#define GEN_PASS_DEF_PLANPASS
#define GEN_PASS_DEF_SHAREBUFFERSPASS
#define GEN_PASS_DEF_PROVEBATCHPASS
#include "kiln/Transforms/Passes.h.inc"
} // namespace kiln

#endif // KILN_LIB_TRANSFORMS_PASSDETAIL_H
