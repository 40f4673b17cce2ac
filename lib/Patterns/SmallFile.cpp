//===- SmallFile.cpp - Files that a user's folder holds -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFile.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

std::unique_ptr<MemoryBuffer> kiln::readSmallFile(StringRef file, uint64_t most, std::string &why) {
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(file, status)) {
    why = error.message();
    return nullptr;
  }
  if (status.type() != sys::fs::file_type::regular_file) {
    why = status.type() == sys::fs::file_type::directory_file ? "it is a directory"
                                                              : "it is no regular file";
    return nullptr;
  }
  if (status.getSize() > most) {
    why = "it has " + std::to_string(status.getSize()) + " bytes; at most " + std::to_string(most) +
          " are read";
    return nullptr;
  }
  auto buffer = MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer) {
    why = buffer.getError().message();
    return nullptr;
  }
  return std::move(*buffer);
}
