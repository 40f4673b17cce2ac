//===- KernelFacts.h - What a launch must know of a kernel ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_KERNELFACTS_H
#define KILN_TARGET_KERNELFACTS_H

#include "kiln/Support/Expr.h"

namespace kiln {

/// Learned by building the kernel; over the kernel's own symbols.
struct KernelFacts {
  Expr units = 1;
  Expr picosecondsPerUnit = 0;
  Expr scratchBytes = 0;
  /// The code is plain loops: let LLVM vectorise it.
  bool vectorize = false;
};

} // namespace kiln

#endif // KILN_TARGET_KERNELFACTS_H
