//===- Names.h - Names in rules and on the command line ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_NAMES_H
#define KILN_PATTERNS_NAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kiln {

/// "; did you mean 'add_relu'?", for the end of a message about a name that is
/// none of the known ones; empty when none is near.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

/// "Value" for 'v': PDLL's name of a kind (Natives.h).
llvm::StringRef kindName(char letter);

} // namespace kiln

#endif // KILN_PATTERNS_NAMES_H
