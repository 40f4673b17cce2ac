//===- Artefact.cpp - Code and weights to a file --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/Artefact.h"
#include "GrowImage.h"
#include "Note.h"
#include "kiln/Target/Link/CRC32C.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace kiln;

/// The page cache makes huge pages of files that are written in aligned blocks
/// of at least 2 MiB: ten times cheaper to map than small ones.
static constexpr uint64_t blockSize = 4 << 20;

static constexpr uint64_t hugePage = 2 << 20;

uint64_t kiln::weightsSectionAlignment(uint64_t weightsSize) {
  return weightsSize >= hugePage / 2 ? hugePage : 4096;
}

uint64_t kiln::layoutWeights(MutableArrayRef<WeightSegment> segments) {
  uint64_t end = 0;
  for (WeightSegment &segment : segments) {
    segment.offset = alignTo(end, weightAlignment);
    end = segment.offset + segment.size;
  }
  return end;
}

namespace {

using Sink = function_ref<Error(uint64_t offset, ArrayRef<uint8_t> bytes)>;

/// Cuts segments into blocks that start and end at multiples of blockSize.
class WeightStream {
public:
  WeightStream(Sink sink) : sink(sink), block(blockSize) {}

  /// Returns the checksum of the segment.
  Expected<uint32_t> append(const WeightSegment &segment);
  Error flush();

private:
  /// Bytes that still fit into the block.
  uint64_t room() const { return blockSize - position % blockSize; }
  uint8_t *next() { return block.data() + used; }
  Error advance(uint64_t count);
  Error copy(ArrayRef<uint8_t> bytes);
  Error moveTo(uint64_t offset);

  Sink sink;
  std::vector<uint8_t> block;
  /// Holds a granule that would not fit into the block.
  std::vector<uint8_t> granule;
  uint64_t used = 0;
  /// In the weights section; of next().
  uint64_t position = 0;
};

} // namespace

Error WeightStream::flush() {
  uint64_t count = std::exchange(used, 0);
  return count ? sink(position - count, ArrayRef(block.data(), count)) : Error::success();
}

Error WeightStream::advance(uint64_t count) {
  used += count;
  position += count;
  return position % blockSize == 0 ? flush() : Error::success();
}

Error WeightStream::copy(ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    uint64_t count = std::min<uint64_t>(bytes.size(), room());
    std::memcpy(next(), bytes.data(), count);
    if (Error error = advance(count))
      return error;
    bytes = bytes.drop_front(count);
  }
  return Error::success();
}

Error WeightStream::moveTo(uint64_t offset) {
  if (used == 0 || offset - position >= room()) {
    if (Error error = flush())
      return error;
    position = offset;
    return Error::success();
  }
  std::memset(next(), 0, offset - position);
  return advance(offset - position);
}

Expected<uint32_t> WeightStream::append(const WeightSegment &segment) {
  if (segment.offset % weightAlignment || segment.offset < position ||
      (!segment.fill && segment.data.size() != segment.size))
    return createStringError("cannot write weights: '" + segment.name +
                             "' is misplaced or has no bytes");
  if (Error error = moveTo(segment.offset))
    return error;
  uint32_t crc = 0;
  for (uint64_t done = 0; done != segment.size;) {
    uint64_t left = segment.size - done, count = std::min(left, room());
    if (!segment.fill) {
      ArrayRef<uint8_t> bytes = segment.data.slice(done, count);
      crc = crc32c(bytes, crc);
      if (Error error = copy(bytes))
        return error;
      done += count;
      continue;
    }
    if (count != left)
      count -= count % segment.granule;
    bool fits = count != 0;
    if (!fits) {
      count = std::min(left, segment.granule);
      granule.resize(count);
    }
    MutableArrayRef<uint8_t> out(fits ? next() : granule.data(), count);
    if (Error error = segment.fill(done, out))
      return error;
    crc = crc32c(out, crc);
    if (Error error = fits ? advance(count) : copy(out))
      return error;
    done += count;
  }
  return crc;
}

static Expected<std::vector<uint32_t>> stream(ArrayRef<WeightSegment> segments, Sink sink) {
  WeightStream stream(sink);
  std::vector<uint32_t> crcs;
  for (const WeightSegment &segment : segments) {
    Expected<uint32_t> crc = stream.append(segment);
    if (!crc)
      return crc.takeError();
    crcs.push_back(*crc);
  }
  if (Error error = stream.flush())
    return error;
  return crcs;
}

Expected<std::vector<uint32_t>> kiln::checksumWeights(ArrayRef<WeightSegment> segments) {
  return stream(segments, [](uint64_t, ArrayRef<uint8_t>) { return Error::success(); });
}

Expected<std::unique_ptr<ArtefactFile>> ArtefactFile::create(StringRef path, uint64_t weightsSize,
                                                             unsigned mode) {
  Expected<std::unique_ptr<OutputFile>> file = OutputFile::create(path, mode);
  if (!file)
    return file.takeError();
  std::unique_ptr<ArtefactFile> artefact(new ArtefactFile);
  artefact->file = std::move(*file);
  artefact->path = path.str();
  artefact->mode = mode;
  artefact->weightsSize = weightsSize;
  // Right for all code below 2 MiB; else finish() moves the weights.
  artefact->base = weightsSectionAlignment(weightsSize) == hugePage ? hugePage : 64 << 10;
  return artefact;
}

Expected<std::vector<uint32_t>> ArtefactFile::writeWeights(ArrayRef<WeightSegment> segments) {
  for (const WeightSegment &segment : segments)
    if (segment.size > weightsSize || segment.offset > weightsSize - segment.size)
      return createStringError("cannot write weights: '" + segment.name +
                               "' lies outside of the section");
  return stream(segments, [&](uint64_t offset, ArrayRef<uint8_t> bytes) {
    return file->write(base + offset, bytes);
  });
}

Error ArtefactFile::moveWeights(uint64_t to) {
  std::vector<uint8_t> block(std::min(blockSize, weightsSize));
  for (uint64_t done = 0; done < weightsSize;) {
    uint64_t count = std::min<uint64_t>(block.size(), weightsSize - done);
    // Ranges may overlap: upwards the end has to move first.
    uint64_t offset = to < base ? done : weightsSize - done - count;
    MutableArrayRef<uint8_t> bytes(block.data(), count);
    if (Error error = file->read(base + offset, bytes))
      return error;
    if (Error error = file->write(to + offset, bytes))
      return error;
    done += count;
  }
  base = to;
  return Error::success();
}

Error ArtefactFile::assemble(StringRef linked) {
  Expected<GrownImage> image = growImage(linked, weightsSize);
  if (!image)
    return image.takeError();
  // Segments need not cover the section to its end.
  if (Error error = file->resize(base + weightsSize))
    return error;
  uint64_t guess = base;
  if (image->weightsOffset != guess)
    if (Error error = moveWeights(image->weightsOffset))
      return error;
  // The gap in front of the weights has old bytes of them.
  if (guess < image->weightsOffset)
    image->head.resize(image->weightsOffset);
  if (Error error = file->write(0, image->head))
    return error;
  uint64_t end = image->weightsOffset + image->weightsSize;
  if (Error error = file->write(end, image->tail))
    return error;
  fileSize = end + image->tail.size();
  if (Error error = file->resize(fileSize))
    return error;
  // Last, for the checksum is of the file as it is.
  if (Error error = stampNote(*image, [&](uint64_t offset, MutableArrayRef<uint8_t> bytes) {
        return file->read(offset, bytes);
      }))
    return error;
  return file->write(0, image->head);
}

Error ArtefactFile::appendSignature(const SigningKey &key) {
  auto read = [&](uint64_t offset, MutableArrayRef<uint8_t> bytes) {
    return file->read(offset, bytes);
  };
  Expected<std::string> signature = key.sign(fileSize, read);
  if (!signature)
    return signature.takeError();
  return file->write(fileSize, StringRef(*signature));
}

Error ArtefactFile::finish(StringRef linked, const SigningKey *key) {
  if (Error error = assemble(linked))
    return error;
  if (key)
    if (Error error = appendSignature(*key))
      return error;
  return file->commit();
}

Error ArtefactFile::finishArchive(StringRef linked, StringRef member) {
  if (Error error = assemble(linked))
    return error;
  auto object = MemoryBuffer::getOpenFile(file->descriptor(), member, fileSize,
                                          /*RequiresNullTerminator=*/false);
  if (!object)
    return file->failed(object.getError());
  NewArchiveMember entry((*object)->getMemBufferRef());
  Error error = writeFileAtomically(
      path,
      [&](raw_ostream &stream) {
        return writeArchiveToStream(stream, entry, SymtabWritingMode::NormalSymtab,
                                    object::Archive::K_GNU, /*Deterministic=*/true,
                                    /*Thin=*/false);
      },
      mode);
  file.reset();
  return error;
}

Error kiln::writeArtefact(StringRef path, StringRef linked, ArrayRef<WeightSegment> segments,
                          const ArtefactForm &form) {
  uint64_t size = segments.empty() ? 0 : segments.back().offset + segments.back().size;
  Expected<std::unique_ptr<ArtefactFile>> file = ArtefactFile::create(path, size, form.mode);
  if (!file)
    return file.takeError();
  Expected<std::vector<uint32_t>> crcs = (*file)->writeWeights(segments);
  if (!crcs)
    return crcs.takeError();
  return form.member.empty() ? (*file)->finish(linked, form.key)
                             : (*file)->finishArchive(linked, form.member);
}
