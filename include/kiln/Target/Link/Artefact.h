//===- kiln/Target/Link/Artefact.h - Code and weights to a file -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights never pass through the linker. They are written to the output file
// first, at the place where the linked image will have its weights segment;
// their checksums go into the module table; code is generated and linked; the
// image is put in front:
//
//   auto file = ArtefactFile::create("model.so", total);
//   auto crcs = (*file)->writeWeights(segments);  // may run beside codegen
//   …emit the module table with the checksums, linkShared…
//   (*file)->finish(linked);
//
// So every weight is packed once and none is held in memory. writeArtefact does
// it in the other order where the weights are at hand anyway.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_ARTEFACT_H
#define KILN_TARGET_LINK_ARTEFACT_H

#include "kiln/Target/Link/OutputFile.h"
#include "kiln/Target/Link/SigningKey.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace kiln {

/// Alignment of every weight in the section: KILN_MODULE_ALIGNMENT.
inline constexpr uint64_t weightAlignment = 64;

/// A weight, as the section holds it. Its bytes are `data`, or else what `fill`
/// makes: fill(at, out) writes the bytes [at, at + out.size()) of the segment.
/// One writer calls it with ascending, adjacent ranges which are multiples of
/// `granule` (the last one may be shorter), of 4 MiB or one granule at most.
struct WeightSegment {
  /// For messages.
  std::string name;
  uint64_t offset = 0;
  uint64_t size = 0;
  llvm::ArrayRef<uint8_t> data;
  /// Keeps `data` alive, where nobody else does.
  std::shared_ptr<const void> owner;
  std::function<llvm::Error(uint64_t at, llvm::MutableArrayRef<uint8_t> out)> fill;
  uint64_t granule = 1;
};

/// Gives each segment its offset, in order; returns the size of the section.
uint64_t layoutWeights(llvm::MutableArrayRef<WeightSegment> segments);

/// CRC-32C of each segment, without a file: for module tables that are emitted
/// but not linked (`--emit=llvm`). Calls `fill`.
llvm::Expected<std::vector<uint32_t>> checksumWeights(llvm::ArrayRef<WeightSegment> segments);

class ArtefactFile {
public:
  /// `weightsSize` as in LinkInputs. Mode 0555 by default: overwriting a mapped
  /// library in place would change the code of running programs.
  static llvm::Expected<std::unique_ptr<ArtefactFile>>
  create(llvm::StringRef path, uint64_t weightsSize, unsigned mode = 0555);

  /// Writes segments in ascending order of their offsets, returns the CRC-32C
  /// of each. What lies between segments is zero. May be called more than once
  /// and from several threads, for parts of the list.
  llvm::Expected<std::vector<uint32_t>> writeWeights(llvm::ArrayRef<WeightSegment> segments);

  /// Puts the image that linkShared or linkRelocatable made in front, and gives
  /// the file its name. With a key, the file is signed.
  llvm::Error finish(llvm::StringRef linked, const SigningKey *key = nullptr);

  /// The same for an object that linkRelocatable made, wrapped into a static
  /// archive as `member`. Takes the disk space twice meanwhile.
  llvm::Error finishArchive(llvm::StringRef linked, llvm::StringRef member);

private:
  ArtefactFile() = default;
  llvm::Error moveWeights(uint64_t to);
  llvm::Error assemble(llvm::StringRef linked);
  llvm::Error appendSignature(const SigningKey &key);

  std::unique_ptr<OutputFile> file;
  std::string path;
  unsigned mode = 0;
  uint64_t weightsSize = 0;
  /// Of the whole file, once it is assembled.
  uint64_t fileSize = 0;
  /// Where the weights start in the file; a guess until finish().
  uint64_t base = 0;
};

/// What finish() makes of an image.
struct ArtefactForm {
  unsigned mode = 0555;
  /// Not owned; null: not signed.
  const SigningKey *key = nullptr;
  /// finishArchive()'s member; empty: no archive.
  std::string member;
};

/// All of the above, for weights which are at hand after the link.
llvm::Error writeArtefact(llvm::StringRef path, llvm::StringRef linked,
                          llvm::ArrayRef<WeightSegment> segments, const ArtefactForm &form = {});

/// Alignment of the weights section in the image for weights of this size.
uint64_t weightsSectionAlignment(uint64_t weightsSize);

} // namespace kiln

#endif // KILN_TARGET_LINK_ARTEFACT_H
