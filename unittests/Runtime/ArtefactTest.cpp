//===- ArtefactTest.cpp - What an artefact exports and needs --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Target/RuntimeObject.h"

#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string readBytes(const std::string &path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// Enough of an ELF file to list symbols.
class ElfSymbols {
public:
  ElfSymbols(const std::string &path, uint32_t sectionType) : bytes(readBytes(path)) {
    const auto *header = at<Elf64_Ehdr>(0);
    const auto *sections = at<Elf64_Shdr>(header->e_shoff);
    for (unsigned i = 0; i != header->e_shnum; ++i) {
      loadedSize += sections[i].sh_flags & SHF_ALLOC && sections[i].sh_type != SHT_NOBITS
                        ? sections[i].sh_size
                        : 0;
      if (sections[i].sh_type != sectionType)
        continue;
      const auto *symbols = at<Elf64_Sym>(sections[i].sh_offset);
      const char *names = at<char>(sections[sections[i].sh_link].sh_offset);
      for (uint64_t s = 1; s != sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
        if (ELF64_ST_BIND(symbols[s].st_info) == STB_LOCAL)
          continue;
        bool defined = symbols[s].st_shndx != SHN_UNDEF;
        (defined ? exported : undefined).insert(names + symbols[s].st_name);
        unique |= ELF64_ST_BIND(symbols[s].st_info) == STB_GNU_UNIQUE;
      }
    }
  }

  std::set<std::string> exported, undefined;
  bool unique = false;
  uint64_t loadedSize = 0;

private:
  template <typename T> const T *at(uint64_t offset) const {
    return reinterpret_cast<const T *>(bytes.data() + offset);
  }
  std::string bytes;
};

struct LibcSymbol {
  std::string name, version, library;
};

std::vector<LibcSymbol> readSymbolList() {
  std::ifstream file(KILN_SYMBOL_LIST);
  std::vector<LibcSymbol> symbols;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream words(line);
    LibcSymbol symbol;
    words >> symbol.name >> symbol.version >> symbol.library;
    symbols.push_back(symbol);
  }
  return symbols;
}

} // namespace

TEST(Artefact, ExportsTheQueryAlone) {
  ElfSymbols artefact(std::string(KILN_TEST_DIR) + "/model.so", SHT_DYNSYM);
  EXPECT_EQ(artefact.exported, (std::set<std::string>{"kiln_m_model_0123", "kiln_model_query"}));
  EXPECT_FALSE(artefact.unique);
}

TEST(Artefact, NeedsOnlyListedSymbols) {
  std::set<std::string> allowed;
  for (const LibcSymbol &symbol : readSymbolList())
    allowed.insert(symbol.name);
  allowed.insert("kiln_generated_module");
  allowed.insert("_GLOBAL_OFFSET_TABLE_"); // the linker's own
  ElfSymbols object(KILN_RUNTIME_OBJECT, SHT_SYMTAB);
  for (const std::string &name : object.undefined)
    EXPECT_TRUE(name.empty() || allowed.count(name)) << name;
  ElfSymbols artefact(std::string(KILN_TEST_DIR) + "/model.so", SHT_DYNSYM);
  for (const std::string &name : artefact.undefined)
    EXPECT_TRUE(name.empty() || allowed.count(name)) << name;
}

TEST(Artefact, RuntimeDefinesItsInterfaceAlone) {
  ElfSymbols object(KILN_RUNTIME_OBJECT, SHT_SYMTAB);
  for (const std::string &name : object.exported)
    // The query, the driver that a device table points to, the compiler's builtins.
    EXPECT_TRUE(name == "kiln_model_query" || name == "kiln_cuda_driver" ||
                name.rfind("__", 0) == 0)
        << name;
  EXPECT_TRUE(object.exported.count("__truncsfhf2"));
}

TEST(Artefact, RuntimeIsSmall) {
  constexpr uint64_t limit = 300 * 1024;
  EXPECT_LT(ElfSymbols(std::string(KILN_TEST_DIR) + "/plain.so", SHT_DYNSYM).loadedSize, limit);
}

TEST(Artefact, ListedSymbolsExistInThisLibc) {
  void *libraries[] = {dlopen("libc.so.6", RTLD_NOW), dlopen("libm.so.6", RTLD_NOW)};
  for (const LibcSymbol &symbol : readSymbolList()) {
    ASSERT_TRUE(symbol.library == "libc.so.6" || symbol.library == "libm.so.6") << symbol.name;
    void *library = libraries[symbol.library == "libm.so.6"];
    EXPECT_NE(dlvsym(library, symbol.name.c_str(), symbol.version.c_str()), nullptr)
        << symbol.name << "@" << symbol.version;
  }
}

TEST(Artefact, TheObjectAndTheListAreEmbedded) {
  kiln::EmbeddedBytes object = kiln::runtimeObject(), symbols = kiln::runtimeLibcSymbols();
  EXPECT_EQ(std::string(object.data, object.size), readBytes(KILN_RUNTIME_OBJECT));
  EXPECT_EQ(std::string(symbols.data, symbols.size), readBytes(KILN_SYMBOL_LIST));
}
