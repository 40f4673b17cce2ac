//===- WeightFile.h - Reading weights again ------------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_LIBKILN_WEIGHTFILE_H
#define KILN_RUNTIME_LIBKILN_WEIGHTFILE_H

#include "ElfFile.h"
#include "Signature.h"

namespace kiln::rt {

/// The weights of an artefact as they lie on disk. Holds the file open, so that
/// a rename or removal does not matter.
class WeightFile {
public:
  /// Of a signed file, what is read is compared with `signature`, which must stay.
  explicit WeightFile(const Signature &signature) : signature(signature) {}
  WeightFile(const WeightFile &) = delete;
  WeightFile &operator=(const WeightFile &) = delete;
  ~WeightFile();

  /// Keeps a descriptor of its own; without one, read() fails.
  void open(int file, const Elf64_Phdr &segment);

  /// From the device when the file system can read past its cache, for what is in
  /// the cache may be what is damaged.
  kiln_status_t read(uint64_t offset, uint64_t size, void *into) const;

private:
  kiln_status_t readAgain(uint64_t offset, uint64_t size, uint8_t *bytes) const;

  const Signature &signature;
  int fd = -1;
  int directFd = -1;
  uint64_t begin = 0;
  uint64_t length = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_LIBKILN_WEIGHTFILE_H
