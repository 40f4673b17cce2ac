//===- TestObjects.h - Objects and folders for tests ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_TARGET_LINK_TESTOBJECTS_H
#define KILN_UNITTESTS_TARGET_LINK_TESTOBJECTS_H

#include "kiln/Target/Link/Link.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kiln::test {

/// Compiles LLVM IR as the code generator would.
std::string compileIR(llvm::StringRef text);

/// Stands for runtime and model: kiln_model_query(version) returns kiln_weights,
/// the rest is hidden and calls into libc and libm.
const std::string &modelObject();

LinkInputs modelInputs();

/// A new folder below the system's temporary one; removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(llvm::StringRef name) const { return path + "/" + name.str(); }
  /// Names of what is in it, sorted.
  std::vector<std::string> entries() const;

  std::string path;
};

std::string readFile(llvm::StringRef path);

} // namespace kiln::test

#endif // KILN_UNITTESTS_TARGET_LINK_TESTOBJECTS_H
