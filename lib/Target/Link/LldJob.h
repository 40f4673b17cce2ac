//===- LldJob.h - One run of lld in memory ----------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_LINK_LLDJOB_H
#define KILN_LIB_TARGET_LINK_LLDJOB_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace kiln {

/// Collects arguments and files for lld, then links once.
class LldJob {
public:
  LldJob();
  ~LldJob();

  void add(llvm::StringRef argument) { arguments.push_back(argument.str()); }
  /// Adds a file as the argument `prefix` + its path. Messages call it `name`.
  void addFile(llvm::StringRef bytes, llvm::StringRef name, llvm::StringRef prefix = "");
  llvm::Expected<std::string> run();

private:
  class MemoryFile;
  std::string withNames(llvm::StringRef text) const;

  std::vector<std::string> arguments;
  std::vector<std::unique_ptr<MemoryFile>> files;
  llvm::Error failed = llvm::Error::success();
};

} // namespace kiln

#endif // KILN_LIB_TARGET_LINK_LLDJOB_H
