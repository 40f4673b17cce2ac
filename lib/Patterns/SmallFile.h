//===- SmallFile.h - Files that a user's folder holds -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_SMALLFILE_H
#define KILN_LIB_PATTERNS_SMALLFILE_H

#include "llvm/Support/MemoryBuffer.h"

namespace kiln {

/// The bytes of a regular file that has at most `most`: nothing is opened that
/// could wait for ever, or never end. Null, with the reason in `why`, where there
/// is none. It is read, not mapped: a mapped file that shrinks is a SIGBUS.
std::unique_ptr<llvm::MemoryBuffer> readSmallFile(llvm::StringRef file, uint64_t most,
                                                  std::string &why);

} // namespace kiln

#endif // KILN_LIB_PATTERNS_SMALLFILE_H
