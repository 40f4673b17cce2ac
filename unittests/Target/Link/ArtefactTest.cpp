//===- ArtefactTest.cpp - Code and weights to a file ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/Artefact.h"
#include "TestObjects.h"
#include "kiln-c/ArtefactNote.h"
#include "kiln/Target/Link/CRC32C.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <atomic>
#include <dlfcn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace kiln;
using namespace kiln::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

/// The byte of the weights at `at`.
uint8_t pattern(uint64_t at) { return (at * 2654435761u) >> 13; }

Error fillPattern(uint64_t start, MutableArrayRef<uint8_t> out) {
  for (size_t i = 0; i != out.size(); ++i)
    out[i] = pattern(start + i);
  return Error::success();
}

WeightSegment generated(std::string name, uint64_t size, uint64_t granule = 1) {
  WeightSegment segment;
  segment.name = std::move(name);
  segment.size = size;
  segment.fill = fillPattern;
  segment.granule = granule;
  return segment;
}

std::string link(uint64_t weightsSize, size_t codeSize = 0) {
  LinkInputs inputs = modelInputs();
  inputs.weightsSize = weightsSize;
  std::string big;
  if (codeSize) {
    big = compileIR("@big = hidden global [" + std::to_string(codeSize) + " x i8] c\"" +
                    std::string(codeSize, 'x') +
                    "\"\n@llvm.used = appending global [1 x ptr] [ptr @big]\n");
    inputs.objects.push_back({big, "big"});
  }
  Expected<std::string> linked = linkShared(inputs);
  if (linked)
    return *linked;
  ADD_FAILURE() << toString(linked.takeError());
  return {};
}

/// A loaded artefact whose query function returns its weights.
struct Loaded {
  explicit Loaded(const std::string &path) : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle) {
      ADD_FAILURE() << ::dlerror();
      return;
    }
    using Query = const uint8_t *(*)(uint32_t);
    weights = reinterpret_cast<Query>(::dlsym(handle, "kiln_model_query"))(1);
  }
  ~Loaded() {
    if (handle)
      ::dlclose(handle);
  }

  void *handle;
  const uint8_t *weights = nullptr;
};

void expectPattern(const uint8_t *bytes, uint64_t size) {
  for (uint64_t i = 0; i != size; ++i)
    if (bytes[i] != pattern(i)) {
      ADD_FAILURE() << "byte " << i << " of " << size;
      return;
    }
}

} // namespace

TEST(CRC32C, known_vectors) {
  std::string zeros(32, '\0'), ones(32, '\xff');
  for (auto *function : {&crc32c, &crc32cByTable}) {
    EXPECT_EQ(function(arrayRefFromStringRef("123456789"), 0), 0xe3069283u);
    EXPECT_EQ(function(arrayRefFromStringRef(zeros), 0), 0x8a9136aau);
    EXPECT_EQ(function(arrayRefFromStringRef(ones), 0), 0x62a8ab43u);
    EXPECT_EQ(function({}, 0), 0u);
    uint32_t first = function(arrayRefFromStringRef("1234"), 0);
    EXPECT_EQ(function(arrayRefFromStringRef("56789"), first), 0xe3069283u);
  }
}

TEST(Artefact, weights_of_all_sizes_are_read_back) {
  TemporaryFolder folder;
  for (uint64_t size :
       {uint64_t(1), uint64_t(100), uint64_t(70000), uint64_t(1) << 20, (uint64_t(9) << 20) + 13}) {
    std::string path = folder / ("m" + std::to_string(size) + ".so");
    WeightSegment segment = generated("w", size);
    ASSERT_EQ(toString(writeArtefact(path, link(size), segment)), "");
    Loaded loaded(path);
    ASSERT_TRUE(loaded.weights);
    expectPattern(loaded.weights, size);
    uintptr_t address = reinterpret_cast<uintptr_t>(loaded.weights);
    EXPECT_EQ(address % 4096, 0u);
    if (size >= 1 << 20) {
      EXPECT_EQ(address % (2 << 20), 0u);
    }
  }
}

TEST(Artefact, segments_checksums_and_padding) {
  std::vector<uint8_t> raw(1000, 7);
  std::vector<WeightSegment> segments = {generated("a", 5), WeightSegment(),
                                         generated("c", 5 << 20, 48), generated("empty", 0),
                                         generated("d", 3 << 20, 5 << 20)};
  segments[1].name = "b";
  segments[1].size = raw.size();
  segments[1].data = raw;
  uint64_t total = layoutWeights(segments);
  EXPECT_EQ(segments[1].offset, 64u);
  EXPECT_EQ(segments[2].offset, 64u + 1024);

  TemporaryFolder folder;
  std::string path = folder / "m.so";
  auto file = ArtefactFile::create(path, total);
  ASSERT_TRUE(bool(file));
  Expected<std::vector<uint32_t>> crcs = (*file)->writeWeights(segments);
  ASSERT_TRUE(bool(crcs)) << toString(crcs.takeError());
  EXPECT_EQ(cantFail(checksumWeights(segments)), *crcs);
  EXPECT_EQ((*crcs)[1], crc32c(raw));
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  ASSERT_EQ(toString((*file)->finish(link(total))), "");

  Loaded loaded(path);
  ASSERT_TRUE(loaded.weights);
  for (auto [segment, crc] : zip(segments, *crcs))
    EXPECT_EQ(crc32c(ArrayRef(loaded.weights + segment.offset, segment.size)), crc) << segment.name;
  for (uint64_t gap = 5; gap != 64; ++gap)
    EXPECT_EQ(loaded.weights[gap], 0);
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0555u & ~022);
}

TEST(Artefact, parts_may_be_written_by_several_threads) {
  std::vector<WeightSegment> segments(40);
  for (auto [index, segment] : enumerate(segments))
    segment = generated("w", 300000 + index);
  uint64_t total = layoutWeights(segments);
  TemporaryFolder folder;
  std::string one = folder / "one.so", two = folder / "two.so", linked = link(total);
  ASSERT_EQ(toString(writeArtefact(one, linked, segments)), "");
  auto file = ArtefactFile::create(two, total);
  ASSERT_TRUE(bool(file));
  std::atomic<int> failures = 0;
  auto write = [&](ArrayRef<WeightSegment> part) {
    Expected<std::vector<uint32_t>> crcs = (*file)->writeWeights(part);
    if (!crcs) {
      consumeError(crcs.takeError());
      ++failures;
    }
  };
  std::thread other(write, ArrayRef(segments).drop_front(17));
  write(ArrayRef(segments).take_front(17));
  other.join();
  EXPECT_EQ(failures, 0);
  ASSERT_EQ(toString((*file)->finish(linked)), "");
  EXPECT_EQ(readFile(one), readFile(two));
}

TEST(Artefact, code_larger_than_the_guess_moves_the_weights) {
  TemporaryFolder folder;
  for (uint64_t size : {uint64_t(500000), uint64_t(5) << 20}) {
    std::string path = folder / ("m" + std::to_string(size) + ".so");
    std::string linked = link(size, 3 << 20);
    ASSERT_EQ(toString(writeArtefact(path, linked, generated("w", size))), "");
    Loaded loaded(path);
    ASSERT_TRUE(loaded.weights);
    expectPattern(loaded.weights, size);
  }
}

TEST(Artefact, section_headers_stay_right) {
  uint64_t size = (3 << 20) + 5;
  TemporaryFolder folder;
  ASSERT_EQ(toString(writeArtefact(folder / "m.so", link(size), generated("w", size))), "");
  std::string bytes = readFile(folder / "m.so");
  auto object = cantFail(object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "m.so")));
  bool found = false, symbol = false;
  for (const object::SectionRef &section : object->sections())
    if (cantFail(section.getName()) == weightsSection) {
      StringRef contents = cantFail(section.getContents());
      ASSERT_EQ(contents.size(), size);
      expectPattern(contents.bytes_begin(), size);
      found = true;
    }
  for (const object::SymbolRef &entry : object->symbols())
    symbol |= cantFail(entry.getName()) == "helper";
  EXPECT_TRUE(found);
  EXPECT_TRUE(symbol);
}

/// The descriptor of the note, if there is one that covers bytes.
const kiln_artefact_note *noteOf(StringRef file) {
  size_t at = file.find(StringRef("\1\0\0\0Kiln\0\0\0\0", 12));
  return at == StringRef::npos
             ? nullptr
             : reinterpret_cast<const kiln_artefact_note *>(file.data() + at + 12);
}

TEST(Artefact, note_has_the_checksum_of_the_code) {
  // Weights among the code, and in a segment of their own.
  for (uint64_t size : {uint64_t(4096), uint64_t(3) << 20}) {
    TemporaryFolder folder;
    std::string path = folder / "model.so";
    WeightSegment segment = generated("w", size);
    ASSERT_FALSE(errorToBool(writeArtefact(path, link(size), segment)));
    std::string bytes = readFile(path), other = folder / "other.so";
    ASSERT_FALSE(errorToBool(writeArtefact(other, link(size), segment)));
    EXPECT_EQ(bytes, readFile(other));
    const kiln_artefact_note *note = noteOf(bytes);
    ASSERT_NE(note, nullptr);
    uint64_t covered = uint64_t(note->covered_high) << 32 | note->covered_low;
    bool isOwn = size >= KILN_NOTE_WEIGHTS_ALIGNMENT;
    EXPECT_EQ(covered > size, !isOwn) << covered;
    uint32_t expected = note->crc32c;
    std::string blank = bytes.substr(0, covered);
    const_cast<kiln_artefact_note *>(noteOf(blank))->crc32c = 0;
    EXPECT_EQ(crc32c(arrayRefFromStringRef(blank)), expected);
  }
}

TEST(Artefact, relocatable_objects_grow_too) {
  uint64_t size = 123457;
  LinkInputs inputs = modelInputs();
  Expected<std::string> linked = linkRelocatable(inputs);
  ASSERT_TRUE(bool(linked));
  TemporaryFolder folder;
  ArtefactForm form;
  form.mode = 0644;
  ASSERT_EQ(toString(writeArtefact(folder / "m.o", *linked, generated("w", size), form)), "");
  // The object is as good as any for a link; its weights come along.
  std::string object = readFile(folder / "m.o");
  std::string query = compileIR("declare ptr @kiln_m_model_0123abcd(i32)\n"
                                "define ptr @kiln_model_query(i32 %v) {\n"
                                "  %p = tail call ptr @kiln_m_model_0123abcd(i32 %v)\n"
                                "  ret ptr %p\n}\n");
  LinkInputs outer;
  outer.objects = {{object, "m.o"}, {query, "query"}};
  Expected<std::string> image = linkShared(outer);
  ASSERT_TRUE(bool(image)) << toString(image.takeError());
  ASSERT_EQ(toString(writeFileAtomically(folder / "outer.so", *image)), "");
  Loaded loaded(folder / "outer.so");
  ASSERT_TRUE(loaded.weights);
  expectPattern(loaded.weights, size);
}

TEST(Artefact, static_archive_has_one_symbol) {
  Expected<std::string> linked = linkRelocatable(modelInputs());
  ASSERT_TRUE(bool(linked));
  TemporaryFolder folder;
  WeightSegment segment = generated("w", 50000);
  auto file = ArtefactFile::create(folder / "m.a", segment.size, 0644);
  ASSERT_TRUE(bool(file));
  cantFail((*file)->writeWeights(segment));
  ASSERT_EQ(toString((*file)->finishArchive(*linked, "m.o")), "");
  EXPECT_THAT(folder.entries(), ElementsAre("m.a"));
  std::string bytes = readFile(folder / "m.a");
  auto archive = cantFail(object::Archive::create(MemoryBufferRef(bytes, "m.a")));
  std::vector<std::string> symbols;
  for (const object::Archive::Symbol &symbol : archive->symbols())
    symbols.push_back(symbol.getName().str());
  EXPECT_THAT(symbols, ElementsAre("kiln_m_model_0123abcd"));
}

TEST(Artefact, errors_leave_nothing_behind) {
  TemporaryFolder folder;
  WeightSegment failing = generated("w", 100);
  failing.fill = [](uint64_t, MutableArrayRef<uint8_t>) {
    return createStringError("cannot pack 'w'");
  };
  std::string linked = link(100);
  EXPECT_EQ(toString(writeArtefact(folder / "m.so", linked, failing)), "cannot pack 'w'");
  EXPECT_THAT(toString(writeArtefact(folder / "m.so", "garbage", generated("w", 100))),
              HasSubstr("invalid buffer"));
  EXPECT_EQ(toString(writeArtefact("/dev/full", linked, generated("w", 100))),
            "cannot write '/dev/full': No space left on device");
  std::vector<WeightSegment> overlapping = {generated("a", 100), generated("b", 100)};
  EXPECT_THAT(toString(writeArtefact(folder / "m.so", linked, overlapping)),
              HasSubstr("'b' is misplaced"));
  EXPECT_TRUE(folder.entries().empty());
}

TEST(Artefact, full_disk_is_an_error) {
  TemporaryFolder folder;
  if (::mount("tmpfs", folder.path.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "needs the right to mount";
  std::string path = folder / "m.so";
  std::string text = toString(writeArtefact(path, link(8 << 20), generated("w", 8 << 20)));
  EXPECT_EQ(text, "cannot write '" + path + "': No space left on device");
  EXPECT_TRUE(folder.entries().empty());
  ::umount(folder.path.c_str());
}

// Offsets past all 32-bit limits; the file is a hole but for its ends.
TEST(Artefact, weights_beyond_4_gb) {
  TemporaryFolder folder;
  std::string path = folder / "m.so";
  std::vector<WeightSegment> segments = {generated("first", 64), generated("last", 64)};
  segments[1].offset = uint64_t(5) << 30;
  uint64_t total = segments[1].offset + segments[1].size;
  ASSERT_EQ(toString(writeArtefact(path, link(total), segments)), "");
  Loaded loaded(path);
  ASSERT_TRUE(loaded.weights);
  expectPattern(loaded.weights, 64);
  expectPattern(loaded.weights + segments[1].offset, 64);
}
