//===- ProgramIdentity.cpp - Which build of the compiler runs -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramIdentity.h"
#include "llvm/ADT/StringExtras.h"
#include <elf.h>
#include <link.h>
#include <vector>

using namespace kiln;
using llvm::StringRef;

namespace {
/// What is collected from the loaded objects.
struct Identities {
  uintptr_t ownAddress = 0;
  std::vector<std::string> texts;
  bool complete = true;
};
} // namespace

/// The description of the first note of that type and owner in [begin, begin + size).
static StringRef findBuildId(const char *begin, size_t size) {
  auto padded = [](size_t n) { return (n + 3) / 4 * 4; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(begin + at);
    size_t name = at + sizeof(*note), text = name + padded(note->n_namesz);
    if (text + note->n_descsz > size)
      return "";
    if (note->n_type == NT_GNU_BUILD_ID &&
        StringRef(begin + name, note->n_namesz) == StringRef("GNU", 4))
      return StringRef(begin + text, note->n_descsz);
    at = text + padded(note->n_descsz);
  }
  return "";
}

static int visit(dl_phdr_info *object, size_t, void *opaque) {
  auto &found = *static_cast<Identities *>(opaque);
  StringRef name(object->dlpi_name), id;
  bool wanted = name.contains("libLLVM") || name.contains("libMLIR");
  for (unsigned i = 0; i != object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && found.ownAddress - begin < segment.p_memsz)
      wanted = true;
    if (segment.p_type == PT_NOTE && id.empty())
      id = findBuildId(reinterpret_cast<const char *>(begin), segment.p_memsz);
  }
  if (!wanted)
    return 0;
  found.complete = found.complete && !id.empty();
  found.texts.push_back(llvm::toHex(id, /*LowerCase=*/true));
  return 0;
}

StringRef kiln::programIdentity() {
  static const std::string identity = [] {
    Identities found;
    found.ownAddress = reinterpret_cast<uintptr_t>(&visit);
    dl_iterate_phdr(visit, &found);
    llvm::sort(found.texts);
    return found.complete ? llvm::join(found.texts, "-") : std::string();
  }();
  return identity;
}
