//===- Audit.h - What every artefact promises -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_LINK_AUDIT_H
#define KILN_LIB_TARGET_LINK_AUDIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kiln {

/// Exports exactly `exports`; needs libc and libm only; no constructors, no
/// thread-local storage. The linker does not refuse these by itself: an object
/// that merely declares the query function hidden hides its definition, too.
llvm::Error auditShared(llvm::StringRef image, llvm::ArrayRef<std::string> exports);

/// Defines exactly one global symbol, and leaves nothing but host symbols undefined.
llvm::Error auditRelocatable(llvm::StringRef image, llvm::StringRef symbol);

} // namespace kiln

#endif // KILN_LIB_TARGET_LINK_AUDIT_H
