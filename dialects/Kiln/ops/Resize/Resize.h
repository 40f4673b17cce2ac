//===- Resize.h - Interpolation between elements ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_OPS_RESIZE_H
#define KILN_DIALECTS_KILN_OPS_RESIZE_H

#include "dialects/Kiln/IR/TensorTypes.h"

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Resize/Resize.h.inc"

#endif // KILN_DIALECTS_KILN_OPS_RESIZE_H
