//===- Attention.h - Scaled dot products and their weights ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_OPS_ATTENTION_H
#define KILN_DIALECTS_KILN_OPS_ATTENTION_H

#include "dialects/Kiln/IR/TensorTypes.h"

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Attention/Attention.h.inc"

#endif // KILN_DIALECTS_KILN_OPS_ATTENTION_H
