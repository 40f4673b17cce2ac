//===- Note.cpp - An artefact's checksum of itself ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Note.h"
#include "ElfImage.h"
#include "kiln-c/ArtefactNote.h"
#include "kiln/Target/Link/Artefact.h"
#include "kiln/Target/Link/CRC32C.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace kiln;

std::string kiln::writeBlankNote() {
  std::string note;
  Elf::Nhdr header;
  header.n_namesz = sizeof(KILN_NOTE_OWNER);
  header.n_descsz = sizeof(kiln_artefact_note);
  header.n_type = KILN_NOTE_TYPE;
  appendRecord(note, header);
  note.append(KILN_NOTE_OWNER, sizeof(KILN_NOTE_OWNER));
  note.resize(alignTo(note.size(), 4));
  kiln_artefact_note blank = {KILN_NOTE_MAJOR, KILN_NOTE_MINOR, 0, 0, 0, 0, 0};
  appendRecord(note, blank);
  return note;
}

/// Where the note's descriptor is in the file; 0 without one.
static uint64_t findNote(const object::ELFFile<Elf> &file, ArrayRef<Elf::Phdr> segments) {
  for (const Elf::Phdr &segment : segments) {
    if (segment.p_type != ELF::PT_NOTE)
      continue;
    Error error = Error::success();
    for (const auto &note : file.notes(segment, error))
      if (note.getName() == KILN_NOTE_OWNER && note.getType() == KILN_NOTE_TYPE)
        return note.getDesc(segment.p_align).data() - file.base();
    consumeError(std::move(error));
  }
  return 0;
}

Error kiln::stampNote(GrownImage &image,
                      function_ref<Error(uint64_t, MutableArrayRef<uint8_t>)> read) {
  auto file = object::ELFFile<Elf>::create(image.head);
  if (!file)
    return file.takeError();
  if (file->getHeader().e_type != ELF::ET_DYN)
    return Error::success();
  auto segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  uint64_t place = findNote(*file, *segments);
  if (!place)
    return Error::success();
  // Weights with huge pages are mapped from the file and have checksums of
  // their own; smaller ones are loaded, and covered, with the code.
  uint64_t covered = 0;
  bool ownSegment = weightsSectionAlignment(image.weightsSize) >= KILN_NOTE_WEIGHTS_ALIGNMENT;
  for (const Elf::Phdr &segment : *segments)
    if (segment.p_type == ELF::PT_LOAD && !(ownSegment && segment.p_offset == image.weightsOffset))
      covered = std::max<uint64_t>(covered, segment.p_offset + segment.p_filesz);

  kiln_artefact_note note;
  std::memcpy(&note, image.head.data() + place, sizeof(note));
  note.crc32c = 0;
  note.covered_low = static_cast<uint32_t>(covered);
  note.covered_high = static_cast<uint32_t>(covered >> 32);
  note.manifest_offset = static_cast<uint32_t>(image.manifestOffset);
  note.manifest_size = static_cast<uint32_t>(image.manifestSize);
  std::memcpy(image.head.data() + place, &note, sizeof(note));
  uint64_t inHead = std::min<uint64_t>(covered, image.head.size());
  uint32_t crc = crc32c(arrayRefFromStringRef(StringRef(image.head).take_front(inHead)));
  std::vector<uint8_t> rest(covered - inHead);
  if (Error error = rest.empty() ? Error::success() : read(inHead, rest))
    return error;
  note.crc32c = crc32c(rest, crc);
  std::memcpy(image.head.data() + place, &note, sizeof(note));
  return Error::success();
}
