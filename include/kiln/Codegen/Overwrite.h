//===- Overwrite.h - Results in the place of operands -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_OVERWRITE_H
#define KILN_CODEGEN_OVERWRITE_H

#include "kiln/Codegen/KernelTable.h"

namespace kiln {

/// Whether the kernel of this region may have its result in the memory of an
/// argument: it has one result, of the argument's type, and element i of the
/// argument is read for element i of the result alone, before that is stored.
bool mayOverwrite(mlir::Block &body, unsigned argument, const KernelTable &table);

} // namespace kiln

#endif // KILN_CODEGEN_OVERWRITE_H
