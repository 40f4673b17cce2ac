//===- Audit.cpp - What every artefact promises ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Audit.h"
#include "ElfImage.h"
#include "StubLibraries.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace kiln;

static Error broken(const Twine &what) {
  return createStringError("cannot link: the result " + what);
}

/// Names of the symbols in a section of `type` that are not local.
static Error readSymbols(const object::ELFFile<Elf> &file, unsigned type,
                         std::vector<std::string> &defined, std::vector<std::string> &undefined) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != type)
      continue;
    auto symbols = file.symbols(&section);
    if (!symbols)
      return symbols.takeError();
    auto strings = file.getStringTableForSymtab(section, *sections);
    if (!strings)
      return strings.takeError();
    for (const Elf::Sym &symbol : *symbols) {
      if (symbol.getBinding() == ELF::STB_LOCAL)
        continue;
      auto name = symbol.getName(*strings);
      if (!name)
        return name.takeError();
      (symbol.isUndefined() ? undefined : defined).push_back(name->str());
    }
  }
  llvm::sort(defined);
  llvm::sort(undefined);
  return Error::success();
}

/// Sections that mean code which runs at load, or memory of a thread's own. lld
/// keeps `.ctors` of old compilers without any code that would run it.
static Error checkSections(const object::ELFFile<Elf> &file) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Shdr &section : *sections) {
    auto name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (section.sh_flags & ELF::SHF_TLS)
      return broken("has thread-local storage");
    if (section.sh_type == ELF::SHT_INIT_ARRAY || section.sh_type == ELF::SHT_FINI_ARRAY ||
        name->starts_with(".ctors") || name->starts_with(".dtors"))
      return broken("has constructors or destructors");
  }
  return Error::success();
}

static Error checkDefined(std::vector<std::string> defined, ArrayRef<std::string> allowed) {
  for (const std::string &name : allowed)
    if (!is_contained(defined, name))
      return broken("does not export '" + name + "'");
  for (const std::string &name : defined)
    if (!is_contained(allowed, name))
      return broken("exports '" + name + "'");
  return Error::success();
}

Error kiln::auditShared(StringRef image, ArrayRef<std::string> exports) {
  auto file = object::ELFFile<Elf>::create(image);
  if (!file)
    return file.takeError();
  std::vector<std::string> defined, undefined;
  if (Error error = readSymbols(*file, ELF::SHT_DYNSYM, defined, undefined))
    return error;
  if (Error error = checkDefined(defined, exports))
    return error;

  if (Error error = checkSections(*file))
    return error;
  auto headers = file->program_headers();
  if (!headers)
    return headers.takeError();
  for (const Elf::Phdr &header : *headers) {
    if (header.p_type == ELF::PT_GNU_STACK && header.p_flags & ELF::PF_X)
      return broken("has an executable stack");
  }
  auto entries = file->dynamicEntries();
  if (!entries)
    return entries.takeError();
  for (const Elf::Dyn &entry : *entries) {
    switch (entry.getTag()) {
    case ELF::DT_INIT:
    case ELF::DT_FINI:
      return broken("has constructors or destructors");
    case ELF::DT_TEXTREL:
      return broken("has relocations in code");
    }
  }
  return Error::success();
}

Error kiln::auditRelocatable(StringRef image, StringRef symbol) {
  auto file = object::ELFFile<Elf>::create(image);
  if (!file)
    return file.takeError();
  std::vector<std::string> defined, undefined;
  if (Error error = readSymbols(*file, ELF::SHT_SYMTAB, defined, undefined))
    return error;
  if (Error error = checkDefined(defined, symbol.str()))
    return error;
  for (const std::string &name : undefined)
    if (!isHostSymbol(name) && name != "_GLOBAL_OFFSET_TABLE_")
      return createStringError("cannot link:\nerror: undefined symbol: " + name);
  return checkSections(*file);
}
