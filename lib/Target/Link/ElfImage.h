//===- ElfImage.h - Small ELF files from nothing ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_LINK_ELFIMAGE_H
#define KILN_LIB_TARGET_LINK_ELFIMAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFTypes.h"
#include <cstdint>
#include <string>

namespace kiln {

using Elf = llvm::object::ELF64LE;

struct ElfSection {
  std::string name;
  uint32_t type = llvm::ELF::SHT_PROGBITS;
  uint64_t flags = 0;
  std::string contents;
  /// Index of another section, counted from 1.
  uint32_t link = 0;
  uint32_t info = 0;
  uint64_t alignment = 1;
  uint64_t entrySize = 0;
};

/// A string table in the making.
class ElfStrings {
public:
  uint32_t add(llvm::StringRef text);
  std::string take() { return std::move(bytes); }

private:
  std::string bytes = std::string(1, '\0');
  llvm::StringMap<uint32_t> offsets;
};

/// Appends a struct of the file format to a section's contents.
template <typename T> void appendRecord(std::string &contents, const T &record) {
  contents.append(reinterpret_cast<const char *>(&record), sizeof(record));
}

/// A file of section headers and contents; adds .shstrtab as the last section.
std::string writeElf(uint16_t type, uint16_t machine, llvm::ArrayRef<ElfSection> sections);

} // namespace kiln

#endif // KILN_LIB_TARGET_LINK_ELFIMAGE_H
