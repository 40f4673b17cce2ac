//===- ElfFile.h - Reading an artefact's file without trusting it - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_LIBKILN_ELFFILE_H
#define KILN_RUNTIME_LIBKILN_ELFFILE_H

#include "Support.h"

#include <elf.h>

namespace kiln::rt {

/// What must be known of a file before it is loaded.
struct ElfLayout {
  static constexpr uint32_t kMaxSegments = 64;

  uint64_t fileSize = 0;
  uint32_t numSegments = 0;
  Elf64_Phdr segments[kMaxSegments];
  /// All that is loaded but the weights lies before this offset.
  uint64_t codeEnd = 0;
  /// The last segment, read-only and aligned to 2 MiB; null when the weights,
  /// if any, lie among the rest.
  const Elf64_Phdr *weights = nullptr;
};

/// Bytes at the start of a file that hold all headers.
inline constexpr uint64_t kHeaderBytes = 4096;

/// Reads the headers and checks that every segment lies in the file.
kiln_status_t readLayout(const uint8_t *head, uint64_t headSize, uint64_t fileSize,
                         ElfLayout &layout, ErrorText &error);

/// Checks `code`, the first layout.codeEnd bytes: the note's checksum, no code
/// that runs by itself, the exported symbol, libraries needed.
kiln_status_t checkContents(const uint8_t *code, const ElfLayout &layout, ErrorText &error);

} // namespace kiln::rt

#endif // KILN_RUNTIME_LIBKILN_ELFFILE_H
