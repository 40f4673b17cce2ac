//===- MappedFile.h - A file as read-only memory ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models are read through a mapping: loading costs no copy, and pages that
// nobody reads are never fetched. A file that another process truncates while
// it is mapped raises SIGBUS on access; nothing can be done about that short of
// a copy.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_SUPPORT_MAPPEDFILE_H
#define KILN_SUPPORT_MAPPEDFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>

namespace kiln {

class DiagnosticEngine;

class MappedFile {
public:
  /// Why a file could not be mapped.
  struct Failure {
    enum Kind { None, NotFound, NotRegular, System } kind = None;
    std::string text; ///< "a directory" when not regular, else the system's words
  };

  /// Null on failure. Only regular files are opened at all, so that a FIFO cannot
  /// block and a device has no side effect. An empty file is an empty range.
  static std::shared_ptr<const MappedFile> open(llvm::StringRef path, Failure &failure);
  /// The same, reported as K002, K003 or K004.
  static std::shared_ptr<const MappedFile> open(llvm::StringRef path, DiagnosticEngine &diags);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const uint8_t *data() const { return begin; }
  size_t size() const { return length; }
  llvm::ArrayRef<uint8_t> bytes() const { return {begin, length}; }
  llvm::StringRef path() const { return name; }

private:
  MappedFile(std::string path, const uint8_t *data, size_t size)
      : name(std::move(path)), begin(data), length(size) {}
  std::string name;
  const uint8_t *begin;
  size_t length;
};

} // namespace kiln

#endif
