//===- Einsum.h - Sums written as equations ---------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_EINSUM_H
#define KILN_IMPORT_EINSUM_H

#include "kiln/Import/ImportTable.h"

namespace kiln {

/// NumPy's einsum as transposes, sums and matrix products, operand by operand
/// from the left. Fails (reported) when the equation does not fit.
mlir::FailureOr<mlir::Value> buildEinsum(NodeImporter &n, llvm::StringRef equation,
                                         llvm::ArrayRef<mlir::Value> operands);

} // namespace kiln

#endif // KILN_IMPORT_EINSUM_H
