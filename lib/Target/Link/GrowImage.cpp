//===- GrowImage.cpp - Room for weights in a linked image -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GrowImage.h"
#include "ElfImage.h"
#include "kiln/Target/Link/Link.h"
#include "kiln/Target/Link/Manifest.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace kiln;

static Error unexpected(const Twine &what) {
  return createStringError("cannot add weights: " + what);
}

/// Overwrites a part of a file's bytes with records of the format.
template <typename T> static void patch(std::string &bytes, uint64_t offset, ArrayRef<T> records) {
  std::memcpy(bytes.data() + offset, records.data(), records.size() * sizeof(T));
}

static Expected<GrownImage> growRelocatable(StringRef linked, const Elf::Ehdr &header,
                                            std::vector<Elf::Shdr> sections, size_t index,
                                            uint64_t size) {
  GrownImage image;
  image.weightsOffset = alignTo(linked.size(), sections[index].sh_addralign);
  image.weightsSize = size;
  sections[index].sh_offset = image.weightsOffset;
  sections[index].sh_size = size;
  image.head = linked.str();
  patch<Elf::Shdr>(image.head, header.e_shoff, sections);
  return image;
}

static Expected<GrownImage> growShared(StringRef linked, Elf::Ehdr header,
                                       std::vector<Elf::Phdr> segments,
                                       std::vector<Elf::Shdr> sections, size_t index,
                                       uint64_t size) {
  GrownImage image;
  image.weightsOffset = sections[index].sh_offset;
  image.weightsSize = size;

  // Loaded segments are sorted by address, so only the last one can grow.
  Elf::Phdr *last = nullptr;
  uint64_t headSize = header.e_phoff + segments.size() * sizeof(Elf::Phdr);
  for (Elf::Phdr &segment : segments) {
    if (segment.p_type == ELF::PT_LOAD)
      last = &segment;
    if (segment.p_type == ELF::PT_LOAD && segment.p_offset != image.weightsOffset)
      headSize = std::max<uint64_t>(headSize, segment.p_offset + segment.p_filesz);
  }
  if (!last || last->p_offset != image.weightsOffset || last->p_flags != ELF::PF_R ||
      last->p_vaddr != sections[index].sh_addr || headSize > image.weightsOffset)
    return unexpected("the last segment of the image is not the placeholder's");
  last->p_filesz = size;
  last->p_memsz = size;
  sections[index].sh_size = size;

  uint64_t base = image.weightsOffset + size;
  for (Elf::Shdr &section : sections) {
    if (section.sh_type == ELF::SHT_NULL || section.sh_flags & ELF::SHF_ALLOC)
      continue;
    uint64_t alignment = std::max<uint64_t>(section.sh_addralign, 1);
    uint64_t offset = alignTo(base + image.tail.size(), alignment);
    image.tail.resize(offset - base);
    if (section.sh_type != ELF::SHT_NOBITS)
      image.tail += linked.substr(section.sh_offset, section.sh_size);
    section.sh_offset = offset;
  }
  header.e_shoff = alignTo(base + image.tail.size(), alignof(uint64_t));
  image.tail.resize(header.e_shoff - base);
  for (const Elf::Shdr &section : sections)
    appendRecord(image.tail, section);

  image.head = linked.take_front(headSize).str();
  patch<Elf::Ehdr>(image.head, 0, header);
  patch<Elf::Phdr>(image.head, header.e_phoff, segments);
  return image;
}

static void noteManifest(const object::ELFFile<Elf> &file, ArrayRef<Elf::Shdr> sections,
                         GrownImage &image) {
  for (const Elf::Shdr &section : sections) {
    auto name = file.getSectionName(section);
    if (!name) {
      consumeError(name.takeError());
    } else if (*name == manifestSection && section.sh_size != 0) {
      image.manifestOffset = section.sh_offset;
      image.manifestSize = section.sh_size - 1;
    }
  }
}

Expected<GrownImage> kiln::growImage(StringRef linked, uint64_t size) {
  auto file = object::ELFFile<Elf>::create(linked);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  auto segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  for (auto [index, section] : enumerate(*sections)) {
    auto name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name != weightsSection)
      continue;
    if (size == 0)
      size = section.sh_size;
    if (file->getHeader().e_type == ELF::ET_REL)
      return growRelocatable(linked, file->getHeader(), sections->vec(), index, size);
    auto image =
        growShared(linked, file->getHeader(), segments->vec(), sections->vec(), index, size);
    if (image)
      noteManifest(*file, *sections, *image);
    return image;
  }
  return unexpected("the image has no section " + weightsSection);
}
