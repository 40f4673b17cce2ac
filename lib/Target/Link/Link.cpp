//===- Link.cpp - Objects to a library ------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/Link.h"
#include "Audit.h"
#include "ElfImage.h"
#include "LldJob.h"
#include "Note.h"
#include "StubLibraries.h"
#include "kiln/Target/Link/Artefact.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace kiln;

/// The object that defines kiln_weights, with a placeholder behind it, and that
/// has the note, if any: what is done to them when the file is written.
static std::string writePlaceholder(uint64_t alignment, StringRef note) {
  ElfStrings strings;
  std::string symbols(sizeof(Elf::Sym), '\0');
  Elf::Sym symbol;
  std::memset(&symbol, 0, sizeof(symbol));
  symbol.st_name = strings.add(weightsSymbol);
  symbol.setBindingAndType(ELF::STB_GLOBAL, ELF::STT_OBJECT);
  symbol.st_other = ELF::STV_HIDDEN;
  symbol.st_shndx = 1;
  appendRecord(symbols, symbol);
  std::string zeros(weightAlignment, '\0');
  std::vector<ElfSection> sections = {
      {weightsSection.str(), ELF::SHT_PROGBITS, ELF::SHF_ALLOC, zeros, 0, 0, alignment, 0},
      {".symtab", ELF::SHT_SYMTAB, 0, symbols, 3, 1, 8, sizeof(Elf::Sym)},
      {".strtab", ELF::SHT_STRTAB, 0, strings.take(), 0, 0, 1, 0},
      // GNU ld marks the stack executable for an object without this one.
      {".note.GNU-stack", ELF::SHT_PROGBITS, 0, "", 0, 0, 1, 0},
  };
  if (!note.empty())
    sections.push_back({noteSection.str(), ELF::SHT_NOTE, ELF::SHF_ALLOC, note.str(), 0, 0, 4, 0});
  return writeElf(ELF::ET_REL, ELF::EM_X86_64, sections);
}

static Error checkObjects(const LinkInputs &inputs) {
  for (const LinkObject &object : inputs.objects) {
    auto *header = reinterpret_cast<const Elf::Ehdr *>(object.bytes.data());
    if (object.bytes.size() < sizeof(*header) || !header->checkMagic() ||
        header->e_type != ELF::ET_REL)
      return createStringError("cannot link: '" + object.name + "' is not an object file");
    if (header->e_machine != ELF::EM_X86_64)
      return createStringError("cannot link: '" + object.name +
                               "' is not for x86-64, the only processor with a list of host "
                               "symbols");
  }
  return Error::success();
}

static void addObjects(LldJob &job, const LinkInputs &inputs, StringRef placeholder) {
  for (const LinkObject &object : inputs.objects)
    job.addFile(object.bytes, object.name);
  job.addFile(placeholder, "weights");
}

Expected<std::string> kiln::linkShared(const LinkInputs &inputs) {
  if (Error error = checkObjects(inputs))
    return error;
  LldJob job;
  for (const char *flag : {"-shared", "--no-undefined", "--gc-sections", "-Bsymbolic", "-e", "0",
                           "-z", "now", "-z", "relro", "-z", "noexecstack", "--hash-style=gnu"})
    job.add(flag);
  job.add(inputs.buildId.empty() ? "--build-id=none" : "--build-id=0x" + inputs.buildId);
  if (!inputs.soname.empty()) {
    job.add("-soname");
    job.add(inputs.soname);
  }
  std::string exported = "{ global: " + querySymbol.str() + "; ";
  std::vector<std::string> expected = {querySymbol.str()};
  if (!inputs.modelSymbol.empty()) {
    job.add("--defsym=" + inputs.modelSymbol + "=" + querySymbol.str());
    exported += inputs.modelSymbol + "; ";
    expected.push_back(inputs.modelSymbol);
  }
  exported += "local: *; };\n";
  job.addFile(exported, "exports", "--version-script=");
  // Last in the image, so that nothing has to be addressed across the weights
  // and only the file's tail moves when they grow.
  std::string placement = ("SECTIONS { " + weightsSection + " : { KEEP(*(" + weightsSection +
                           ")) } } INSERT AFTER .bss;\n")
                              .str();
  job.addFile(placement, "placement", "--script=");
  addObjects(job, inputs,
             writePlaceholder(weightsSectionAlignment(inputs.weightsSize), writeBlankNote()));
  for (const StubLibrary &library : stubLibraries())
    job.addFile(library.bytes, library.soname);
  Expected<std::string> linked = job.run();
  if (!linked)
    return linked.takeError();
  if (Error error = auditShared(*linked, expected))
    return error;
  return linked;
}

static Expected<std::string> keepModelSymbol(StringRef linked, const std::string &symbol) {
  objcopy::ConfigManager config;
  config.Common.InputFilename = config.Common.OutputFilename = "model.o";
  config.Common.OutputFormat = objcopy::FileFormat::ELF;
  config.Common.SymbolsToRename[querySymbol] = symbol;
  // objcopy goes by the old name when it localises.
  auto keep = objcopy::NameOrPattern::create(querySymbol, objcopy::MatchStyle::Literal,
                                             [](Error error) { return error; });
  if (Error error = config.Common.SymbolsToKeepGlobal.addMatcher(std::move(keep)))
    return error;
  auto object = object::ObjectFile::createELFObjectFile(MemoryBufferRef(linked, "model.o"));
  if (!object)
    return object.takeError();
  std::string result;
  raw_string_ostream stream(result);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **object, stream))
    return error;
  return result;
}

Expected<std::string> kiln::linkRelocatable(const LinkInputs &inputs) {
  if (Error error = checkObjects(inputs))
    return error;
  if (inputs.modelSymbol.empty())
    return createStringError("cannot link: a relocatable object needs a model symbol");
  LldJob job;
  job.add("-r");
  // What the model does not use would ask for more of its host, as in
  // linkShared; these two are what it is reached by.
  job.add("--gc-sections");
  for (StringRef root : {StringRef(querySymbol), StringRef(weightsSymbol)}) {
    job.add("-u");
    job.add(root.str());
  }
  // A page: a user's program should not be aligned to huge pages by one object.
  addObjects(job, inputs, writePlaceholder(4096, ""));
  Expected<std::string> linked = job.run();
  if (!linked)
    return linked.takeError();
  Expected<std::string> result = keepModelSymbol(*linked, inputs.modelSymbol);
  if (!result)
    return result.takeError();
  if (Error error = auditRelocatable(*result, inputs.modelSymbol))
    return error;
  return result;
}
