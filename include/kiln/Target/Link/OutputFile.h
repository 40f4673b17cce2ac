//===- kiln/Target/Link/OutputFile.h - All or nothing ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_OUTPUTFILE_H
#define KILN_TARGET_LINK_OUTPUTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <system_error>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace kiln {

/// A file that appears under its path complete or not at all.
///
/// The bytes go to a nameless file in the same folder where the file system has
/// such files, so that even a killed process leaves nothing behind, else to
/// `.kiln-…`; commit() gives it its name. `-` is standard output. A path that
/// names a device, a pipe or a socket is written, not replaced: then the bytes
/// wait in memory until commit(). A symbolic link keeps pointing where it did.
///
/// Every error names the path, in one line, and carries the system's error code.
class OutputFile {
public:
  /// `mode` is subject to the umask.
  static llvm::Expected<std::unique_ptr<OutputFile>> create(llvm::StringRef path,
                                                            unsigned mode = 0666);
  /// Without commit() the file is dropped.
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// May be called from several threads for ranges that do not meet.
  llvm::Error write(uint64_t offset, llvm::ArrayRef<uint8_t> bytes);
  llvm::Error write(uint64_t offset, llvm::StringRef bytes);
  llvm::Error read(uint64_t offset, llvm::MutableArrayRef<uint8_t> bytes) const;
  /// Cuts or extends (with zeros that take no space).
  llvm::Error resize(uint64_t size);
  llvm::Error commit();

  /// For a raw_fd_ostream; stays the property of this object.
  int descriptor() const { return fd; }
  /// "cannot write 'path': …" for an error that a stream met.
  llvm::Error failed(std::error_code code) const { return failure(code.value()); }

private:
  OutputFile() = default;
  llvm::Error openTemporary(unsigned mode);
  llvm::Error copyToStream();
  llvm::Error failure(int code) const;

  /// What messages name.
  std::string shown;
  /// After symbolic links; empty for standard output.
  std::string target;
  std::string folder;
  /// Name of the temporary file, empty while it has none.
  std::string temporary;
  int fd = -1;
  bool stream = false;
};

llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef bytes, unsigned mode = 0666);

/// The same for text that is printed; an error that `print` returns passes
/// through, and nothing is written.
llvm::Error writeFileAtomically(llvm::StringRef path,
                                llvm::function_ref<llvm::Error(llvm::raw_ostream &)> print,
                                unsigned mode = 0666);

} // namespace kiln

#endif // KILN_TARGET_LINK_OUTPUTFILE_H
