//===- PlanDialect.h - The plan dialect -------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_PLAN_IR_PLANDIALECT_H
#define KILN_DIALECTS_PLAN_IR_PLANDIALECT_H

#include "dialects/Kiln/IR/KilnDialect.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Plan/IR/PlanDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/IR/PlanOps.h.inc"

#endif // KILN_DIALECTS_PLAN_IR_PLANDIALECT_H
