//===- TrialLowering.h - A rule's lowering, tried in a child ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_TRIALLOWERING_H
#define KILN_LIB_PATTERNS_TRIALLOWERING_H

#include "mlir/IR/MLIRContext.h"

namespace kiln {

enum class Trial : uint8_t {
  Lowers,
  Fails,
  Crashes, ///< also when it takes too long
  Untried  ///< the system gave no process; errno says why
};

/// Lowers the PDL module that `bytecode` is in a process of its own: libmlir
/// crashes on some modules that verify, and what it leaves behind then is of no
/// use. Nothing in this process changes. At most `seconds` pass.
Trial tryLowering(llvm::StringRef bytecode, const mlir::DialectRegistry &registry,
                  unsigned seconds);

} // namespace kiln

#endif // KILN_LIB_PATTERNS_TRIALLOWERING_H
