//===- PullCost.h - What pulling an element costs ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_PULLCOST_H
#define KILN_CODEGEN_PULLCOST_H

#include "kiln/Codegen/KernelTable.h"

namespace kiln {

/// About how many vector instructions a vector of elements of `op`'s result
/// takes, its operands' elements given; an elementary function counts as 16.
/// `op` must have elements that can be pulled.
unsigned pullCost(mlir::Operation *op, const KernelTable &table);

/// The same for code that was built already: the ops of a block that work on
/// lanes, without loads and stores.
unsigned vectorCost(mlir::Block &block);

} // namespace kiln

#endif // KILN_CODEGEN_PULLCOST_H
