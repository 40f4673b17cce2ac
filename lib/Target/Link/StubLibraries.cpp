//===- StubLibraries.cpp - The C library to link against ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubLibraries.h"
#include "ElfImage.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELF.h"
#include <cstring>
#include <vector>

using namespace llvm;
using namespace kiln;

static constexpr char hostSymbols[] =
#include "HostSymbols.inc"
    ;

namespace {

struct HostSymbol {
  StringRef name;
  StringRef version;
  bool isObject;
};

/// Section numbers in the order of writeStub's list.
enum SectionIndex : uint32_t { DynStr = 1, DynSym, VerSym, VerDef, Dynamic, Text };

} // namespace

/// An auxiliary version entry follows its definition at once.
static void appendVersion(std::string &contents, unsigned index, uint16_t flags, StringRef name,
                          uint32_t nameOffset, bool last) {
  Elf::Verdef definition;
  std::memset(&definition, 0, sizeof(definition));
  definition.vd_version = 1;
  definition.vd_flags = flags;
  definition.vd_ndx = index;
  definition.vd_cnt = 1;
  definition.vd_hash = object::hashSysV(name);
  definition.vd_aux = sizeof(definition);
  Elf::Verdaux entry;
  std::memset(&entry, 0, sizeof(entry));
  entry.vda_name = nameOffset;
  definition.vd_next = last ? 0 : sizeof(definition) + sizeof(entry);
  appendRecord(contents, definition);
  appendRecord(contents, entry);
}

static std::string writeStub(StringRef soname, ArrayRef<HostSymbol> symbols) {
  MapVector<StringRef, unsigned> versions;
  for (const HostSymbol &symbol : symbols)
    versions.try_emplace(symbol.version, versions.size() + 2);

  ElfStrings strings;
  std::string dynsym(sizeof(Elf::Sym), '\0'), versym(sizeof(Elf::Versym), '\0');
  for (const HostSymbol &symbol : symbols) {
    Elf::Sym entry;
    std::memset(&entry, 0, sizeof(entry));
    entry.st_name = strings.add(symbol.name);
    entry.setBindingAndType(ELF::STB_GLOBAL, symbol.isObject ? ELF::STT_OBJECT : ELF::STT_FUNC);
    entry.st_shndx = Text;
    appendRecord(dynsym, entry);
    Elf::Versym version;
    version.vs_index = versions.lookup(symbol.version);
    appendRecord(versym, version);
  }
  std::string verdef;
  appendVersion(verdef, 1, ELF::VER_FLG_BASE, soname, strings.add(soname), versions.empty());
  for (auto [name, index] : versions)
    appendVersion(verdef, index, 0, name, strings.add(name), index == versions.size() + 1);
  std::string dynamic;
  Elf::Dyn tag;
  tag.d_tag = ELF::DT_SONAME;
  tag.d_un.d_val = strings.add(soname);
  appendRecord(dynamic, tag);
  tag.d_tag = ELF::DT_NULL;
  tag.d_un.d_val = 0;
  appendRecord(dynamic, tag);

  uint32_t versionCount = versions.size() + 1;
  std::vector<ElfSection> sections = {
      {".dynstr", ELF::SHT_STRTAB, ELF::SHF_ALLOC, strings.take(), 0, 0, 1, 0},
      {".dynsym", ELF::SHT_DYNSYM, ELF::SHF_ALLOC, dynsym, DynStr, 1, 8, sizeof(Elf::Sym)},
      {".gnu.version", ELF::SHT_GNU_versym, ELF::SHF_ALLOC, versym, DynSym, 0, 2, 2},
      {".gnu.version_d", ELF::SHT_GNU_verdef, ELF::SHF_ALLOC, verdef, DynStr, versionCount, 8, 0},
      {".dynamic", ELF::SHT_DYNAMIC, ELF::SHF_ALLOC, dynamic, DynStr, 0, 8, sizeof(Elf::Dyn)},
      {".text", ELF::SHT_NOBITS, ELF::SHF_ALLOC | ELF::SHF_EXECINSTR, "", 0, 0, 16, 0},
  };
  return writeElf(ELF::ET_DYN, ELF::EM_X86_64, sections);
}

static MapVector<StringRef, std::vector<HostSymbol>> readHostSymbols() {
  MapVector<StringRef, std::vector<HostSymbol>> libraries;
  SmallVector<StringRef> lines;
  StringRef(hostSymbols).split(lines, '\n');
  for (StringRef line : lines) {
    SmallVector<StringRef, 4> fields;
    line.split(fields, ' ', -1, /*KeepEmpty=*/false);
    if (fields.size() >= 3 && !line.starts_with("#"))
      libraries[fields[2]].push_back({fields[0], fields[1], fields.size() > 3});
  }
  return libraries;
}

ArrayRef<StubLibrary> kiln::stubLibraries() {
  static const std::vector<StubLibrary> stubs = [] {
    std::vector<StubLibrary> made;
    for (auto &[soname, symbols] : readHostSymbols())
      made.push_back({soname.str(), writeStub(soname, symbols)});
    return made;
  }();
  return stubs;
}

bool kiln::isHostSymbol(StringRef name) {
  static const StringSet<> names = [] {
    StringSet<> all;
    for (auto &[soname, symbols] : readHostSymbols())
      for (const HostSymbol &symbol : symbols)
        all.insert(symbol.name);
    return all;
  }();
  return names.contains(name);
}
