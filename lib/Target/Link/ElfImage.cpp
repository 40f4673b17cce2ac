//===- ElfImage.cpp - Small ELF files from nothing ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfImage.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace kiln;

uint32_t ElfStrings::add(StringRef text) {
  auto [entry, isNew] = offsets.try_emplace(text, bytes.size());
  if (isNew)
    bytes.append(text.data(), text.size()).push_back('\0');
  return entry->second;
}

std::string kiln::writeElf(uint16_t type, uint16_t machine, ArrayRef<ElfSection> sections) {
  ElfStrings names;
  std::vector<Elf::Shdr> headers(sections.size() + 2);
  std::memset(headers.data(), 0, headers.size() * sizeof(Elf::Shdr));
  std::string bytes(sizeof(Elf::Ehdr), '\0');
  auto place = [&](Elf::Shdr &header, const ElfSection &section) {
    bytes.resize(alignTo(bytes.size(), section.alignment));
    header.sh_name = names.add(section.name);
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_offset = bytes.size();
    header.sh_size = section.contents.size();
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_addralign = section.alignment;
    header.sh_entsize = section.entrySize;
    bytes += section.contents;
  };
  for (size_t i = 0; i != sections.size(); ++i)
    place(headers[i + 1], sections[i]);
  ElfSection strings;
  strings.name = ".shstrtab";
  strings.type = ELF::SHT_STRTAB;
  names.add(strings.name);
  strings.contents = ElfStrings(names).take();
  place(headers.back(), strings);

  bytes.resize(alignTo(bytes.size(), 8));
  Elf::Ehdr header;
  std::memset(&header, 0, sizeof(header));
  std::memcpy(header.e_ident, ELF::ElfMagic, 4);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = type;
  header.e_machine = machine;
  header.e_version = ELF::EV_CURRENT;
  header.e_ehsize = sizeof(Elf::Ehdr);
  header.e_shoff = bytes.size();
  header.e_shentsize = sizeof(Elf::Shdr);
  header.e_shnum = headers.size();
  header.e_shstrndx = headers.size() - 1;
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (const Elf::Shdr &section : headers)
    appendRecord(bytes, section);
  return bytes;
}
