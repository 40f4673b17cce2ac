//===- Why.h - How the decisions of two artefacts differ --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_WHY_H
#define KILN_TOOLS_KILN_RULES_WHY_H

#include "llvm/ADT/StringRef.h"

namespace kiln {

/// Compares the manifests of two artefacts: what they were made of, and what
/// became of each match. Exit status 0 when nothing differs, 1 when something
/// does, 4 when a file has no manifest that can be read.
int compareDecisions(llvm::StringRef left, llvm::StringRef right, bool json);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_WHY_H
