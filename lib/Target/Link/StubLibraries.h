//===- StubLibraries.h - The C library to link against ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_LINK_STUBLIBRARIES_H
#define KILN_LIB_TARGET_LINK_STUBLIBRARIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kiln {

struct StubLibrary {
  /// "libc.so.6"
  std::string soname;
  std::string bytes;
};

/// libc and libm as the linker has to see them, made once a process from
/// HostSymbols.txt: names and versions, no code.
llvm::ArrayRef<StubLibrary> stubLibraries();

/// Whether HostSymbols.txt has the name.
bool isHostSymbol(llvm::StringRef name);

} // namespace kiln

#endif // KILN_LIB_TARGET_LINK_STUBLIBRARIES_H
