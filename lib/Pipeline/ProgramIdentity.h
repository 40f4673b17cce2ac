//===- ProgramIdentity.h - Which build of the compiler runs -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PIPELINE_PROGRAMIDENTITY_H
#define KILN_LIB_PIPELINE_PROGRAMIDENTITY_H

#include "llvm/ADT/StringRef.h"

namespace kiln {

/// The GNU build ids of the program (or library) that this code is in and of
/// the LLVM and MLIR libraries that it runs with, in hexadecimal: equal only
/// for compilers that make equal code. Empty when one of them has none.
llvm::StringRef programIdentity();

} // namespace kiln

#endif // KILN_LIB_PIPELINE_PROGRAMIDENTITY_H
