//===- ElfFile.cpp - Reading an artefact's file without trusting it -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ElfFile.h"

#include "Crc32c.h"
#include "kiln-c/ArtefactNote.h"

#include <algorithm>
#include <cstring>

namespace kiln::rt {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "no ELF machine for this architecture"
#endif

const char *machineName(uint16_t machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "AArch64";
  case EM_RISCV:
    return "RISC-V";
  case EM_386:
    return "32-bit x86";
  case EM_ARM:
    return "32-bit Arm";
  default:
    return "an architecture unknown here";
  }
}

bool addOverflows(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum);
}

/// The file's bytes for [address, address + size), or null.
const uint8_t *bytesAt(const uint8_t *code, const ElfLayout &layout, uint64_t address,
                       uint64_t size) {
  for (uint32_t i = 0; i != layout.numSegments; ++i) {
    const Elf64_Phdr &segment = layout.segments[i];
    if (segment.p_type != PT_LOAD || &segment == layout.weights || address < segment.p_vaddr)
      continue;
    uint64_t inside = address - segment.p_vaddr;
    if (inside <= segment.p_filesz && size <= segment.p_filesz - inside)
      return code + segment.p_offset + inside;
  }
  return nullptr;
}

/// Something that looks like the note's owner where a note can be. A note that
/// is there and cannot be found is damaged, or what leads to it is.
bool hasTraceOfNote(const uint8_t *code, const ElfLayout &layout) {
  constexpr char owner[8] = KILN_NOTE_OWNER;
  uint64_t end = std::min(layout.codeEnd, kHeaderBytes);
  for (uint64_t at = 0; at + sizeof owner <= end; at += 4)
    if (std::memcmp(code + at, owner, sizeof owner) == 0)
      return true;
  return false;
}

/// Where the checksum of the note lies; null without a note. `strange` is set
/// when there are notes of others than the linker and kilnc.
const kiln_artefact_note *findNote(const uint8_t *code, const ElfLayout &layout, bool &strange) {
  for (uint32_t i = 0; i != layout.numSegments; ++i) {
    const Elf64_Phdr &segment = layout.segments[i];
    if (segment.p_type != PT_NOTE || segment.p_offset > layout.codeEnd ||
        segment.p_filesz > layout.codeEnd - segment.p_offset || segment.p_offset % 4)
      continue;
    const uint8_t *at = code + segment.p_offset;
    uint64_t left = segment.p_filesz;
    while (left >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr header;
      std::memcpy(&header, at, sizeof header);
      uint64_t name = alignUp(header.n_namesz, 4), descriptor = alignUp(header.n_descsz, 4);
      uint64_t size = sizeof header + name + descriptor;
      if (size > left)
        break;
      if (header.n_type == KILN_NOTE_TYPE && header.n_namesz == sizeof KILN_NOTE_OWNER &&
          header.n_descsz >= KILN_NOTE_SIZE_1_0 &&
          std::memcmp(at + sizeof header, KILN_NOTE_OWNER, sizeof KILN_NOTE_OWNER) == 0)
        return reinterpret_cast<const kiln_artefact_note *>(at + sizeof header + name);
      strange |= header.n_namesz != 4 || std::memcmp(at + sizeof header, "GNU", 4) != 0;
      at += size;
      left -= size;
    }
  }
  return nullptr;
}

/// The manifest that the note names lies in the code, ends where it says, and is of
/// a format that readers of this version know.
kiln_status_t checkManifest(const uint8_t *code, const ElfLayout &layout,
                            const kiln_artefact_note *place, ErrorText &error) {
  kiln_artefact_note note;
  uint64_t at = uint64_t(reinterpret_cast<const uint8_t *>(place) - code);
  if (layout.codeEnd - at < sizeof note)
    return error.fail(KILN_CORRUPT, "its note is damaged");
  std::memcpy(&note, place, sizeof note);
  if (!note.manifest_offset && !note.manifest_size)
    return KILN_OK;
  constexpr char start[] = "{\"format\":\"kiln-manifest 1.";
  uint64_t begin = note.manifest_offset, size = note.manifest_size;
  if (begin >= layout.codeEnd || size >= layout.codeEnd - begin || size < sizeof start ||
      code[begin + size] != 0 || std::memchr(code + begin, 0, size))
    return error.fail(KILN_CORRUPT, "its manifest is not where the note says");
  if (std::memcmp(code + begin, start, sizeof start - 1) != 0 || code[begin + size - 1] != '}')
    return error.fail(KILN_CORRUPT, "its manifest is none of kiln-manifest 1");
  return KILN_OK;
}

kiln_status_t checkNote(const uint8_t *code, const ElfLayout &layout, ErrorText &error) {
  bool strange = false;
  const kiln_artefact_note *place = findNote(code, layout, strange);
  if (!place && (strange || hasTraceOfNote(code, layout)))
    return error.fail(KILN_CORRUPT, "its note is damaged");
  if (!place)
    return KILN_OK;
  kiln_artefact_note note = {};
  std::memcpy(&note, place, KILN_NOTE_SIZE_1_0);
  if (note.major != KILN_NOTE_MAJOR)
    return error.fail(KILN_ABI_MISMATCH, "artefact note %u.%u, this libkiln knows %u.%u",
                      note.major, note.minor, KILN_NOTE_MAJOR, KILN_NOTE_MINOR);
  uint64_t field = uint64_t(reinterpret_cast<const uint8_t *>(place) - code) +
                   offsetof(kiln_artefact_note, crc32c);
  uint64_t covered = uint64_t(note.covered_high) << 32 | note.covered_low;
  if (covered != layout.codeEnd)
    return error.fail(KILN_CORRUPT, "the note covers %llu bytes, the code has %llu",
                      static_cast<unsigned long long>(covered),
                      static_cast<unsigned long long>(layout.codeEnd));
  constexpr uint8_t zero[sizeof note.crc32c] = {};
  Crc32c crc32c;
  uint32_t crc = crc32c(code, field);
  crc = crc32c(zero, sizeof zero, crc);
  uint64_t after = field + sizeof zero;
  crc = crc32c(code + after, covered - after, crc);
  if (crc != note.crc32c)
    return error.fail(KILN_CORRUPT, "the code is damaged: checksum %08x, expected %08x", crc,
                      note.crc32c);
  return note.minor >= 1 ? checkManifest(code, layout, place, error) : KILN_OK;
}

bool isNeededLibrary(const char *name, size_t length) {
  constexpr const char *known[] = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2",
                                   "ld-linux-aarch64.so.1"};
  return std::any_of(std::begin(known), std::end(known), [&](const char *candidate) {
    return std::strlen(candidate) == length && std::memcmp(candidate, name, length) == 0;
  });
}

/// A string table holds this name from the start of one of its strings.
bool holdsString(const char *strings, uint64_t size, const char *wanted) {
  uint64_t length = std::strlen(wanted) + 1;
  for (const char *at = strings, *end = strings + size; uint64_t(end - at) >= length; ++at) {
    if (std::memcmp(at, wanted, length) == 0)
      return true;
    at = static_cast<const char *>(std::memchr(at, 0, size_t(end - at)));
    if (!at)
      return false;
  }
  return false;
}

/// The dynamic section decides what the loader runs and loads by itself.
kiln_status_t checkDynamic(const uint8_t *code, const ElfLayout &layout, ErrorText &error) {
  const Elf64_Phdr *dynamic = nullptr;
  for (uint32_t i = 0; i != layout.numSegments; ++i)
    if (layout.segments[i].p_type == PT_DYNAMIC)
      dynamic = &layout.segments[i];
  const uint8_t *section =
      dynamic ? bytesAt(code, layout, dynamic->p_vaddr, dynamic->p_filesz) : nullptr;
  if (!section)
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: no dynamic section");
  uint64_t strings = 0, stringsSize = 0, initialisers = 0;
  constexpr uint32_t maxNeeded = 8;
  uint64_t needed[maxNeeded];
  uint32_t numNeeded = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->p_filesz; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, section + at, sizeof entry);
    if (entry.d_tag == DT_NULL)
      break;
    switch (entry.d_tag) {
    case DT_STRTAB:
      strings = entry.d_un.d_ptr;
      break;
    case DT_STRSZ:
      stringsSize = entry.d_un.d_val;
      break;
    case DT_NEEDED:
      if (numNeeded == maxNeeded)
        return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: needs too many libraries");
      needed[numNeeded++] = entry.d_un.d_val;
      break;
    case DT_INIT:
    case DT_FINI:
      initialisers |= entry.d_un.d_ptr;
      break;
    case DT_INIT_ARRAYSZ:
    case DT_FINI_ARRAYSZ:
    case DT_PREINIT_ARRAYSZ:
      initialisers |= entry.d_un.d_val;
      break;
    default:
      break;
    }
  }
  const auto *names = reinterpret_cast<const char *>(bytesAt(code, layout, strings, stringsSize));
  if (!names || !stringsSize || names[stringsSize - 1] != 0)
    return error.fail(KILN_CORRUPT, "the table of names lies outside the file");
  if (!holdsString(names, stringsSize, "kiln_model_query"))
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: it exports no kiln_model_query");
  if (initialisers)
    return error.fail(KILN_INVALID_ARTEFACT,
                      "not an artefact: it has code that runs when it is loaded");
  for (uint32_t i = 0; i != numNeeded; ++i) {
    if (needed[i] >= stringsSize)
      return error.fail(KILN_CORRUPT, "the name of a library lies outside the table of names");
    const char *name = names + needed[i];
    if (!isNeededLibrary(name, std::strlen(name)))
      return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: it needs %s", name);
  }
  return KILN_OK;
}

} // namespace

kiln_status_t readLayout(const uint8_t *head, uint64_t headSize, uint64_t fileSize,
                         ElfLayout &layout, ErrorText &error) {
  Elf64_Ehdr header;
  if (headSize < sizeof header || std::memcmp(head, ELFMAG, SELFMAG) != 0)
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: not an ELF file");
  std::memcpy(&header, head, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr))
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: not a 64-bit shared object");
  if (header.e_machine != kMachine)
    return error.fail(KILN_CPU_UNSUPPORTED, "built for %s, this machine is %s",
                      machineName(header.e_machine), machineName(kMachine));
  if (header.e_phnum == 0 || header.e_phnum > ElfLayout::kMaxSegments ||
      header.e_phoff > kHeaderBytes ||
      header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) > kHeaderBytes)
    return error.fail(KILN_INVALID_ARTEFACT, "not an artefact: unusual program headers");
  if (header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) > headSize)
    return error.fail(KILN_CORRUPT, "cut short: it ends within its headers");
  layout.fileSize = fileSize;
  layout.numSegments = header.e_phnum;
  std::memcpy(layout.segments, head + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  layout.weights = nullptr;
  layout.codeEnd = 0;

  uint64_t loadEnd = 0, lastAddress = 0;
  const Elf64_Phdr *last = nullptr;
  for (uint32_t i = 0; i != layout.numSegments; ++i) {
    const Elf64_Phdr &segment = layout.segments[i];
    if (segment.p_type != PT_LOAD)
      continue;
    if (segment.p_filesz > segment.p_memsz || addOverflows(segment.p_offset, segment.p_filesz) ||
        addOverflows(segment.p_vaddr, segment.p_memsz) || segment.p_vaddr < lastAddress)
      return error.fail(KILN_CORRUPT, "segment %u makes no sense", i);
    uint64_t end = segment.p_offset + segment.p_filesz;
    if (end > fileSize)
      return error.fail(KILN_CORRUPT, "cut short: it has %llu bytes of %llu",
                        static_cast<unsigned long long>(fileSize),
                        static_cast<unsigned long long>(end));
    if (last)
      layout.codeEnd = std::max(layout.codeEnd, last->p_offset + last->p_filesz);
    last = &segment;
    lastAddress = segment.p_vaddr + segment.p_memsz;
    loadEnd = std::max(loadEnd, end);
  }
  bool isWeights = last && last->p_flags == PF_R && last->p_align >= KILN_NOTE_WEIGHTS_ALIGNMENT &&
                   last->p_offset % KILN_NOTE_WEIGHTS_ALIGNMENT == 0 &&
                   last->p_vaddr % KILN_NOTE_WEIGHTS_ALIGNMENT == 0 &&
                   last->p_filesz == last->p_memsz && last->p_offset >= layout.codeEnd;
  if (isWeights) {
    // What lies between code and weights only aligns them.
    layout.weights = last;
  } else {
    layout.codeEnd = loadEnd;
  }
  if (layout.codeEnd < header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr))
    return error.fail(KILN_CORRUPT, "its headers are not part of any segment");
  return KILN_OK;
}

kiln_status_t checkContents(const uint8_t *code, const ElfLayout &layout, ErrorText &error) {
  if (kiln_status_t status = checkNote(code, layout, error))
    return status;
  return checkDynamic(code, layout, error);
}

} // namespace kiln::rt
