//===- LoaderSupport.h - What tests of libkiln share --------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_LOADERSUPPORT_H
#define KILN_UNITTESTS_RUNTIME_LOADERSUPPORT_H

#include "Crc32c.h"
#include "TestSupport.h"
#include "kiln-c/ArtefactNote.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace kiln::test {

inline std::string artefactPath(const std::string &name) {
  return std::string(KILN_TEST_DIR) + "/" + name + ".so";
}

inline std::string readBytes(const std::string &path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// A file that is gone at the end of the test.
class Scratch {
public:
  explicit Scratch(const std::string &bytes) {
    path = testing::TempDir() + "kiln-loader-test-" + std::to_string(getpid()) + ".so";
    write(bytes);
  }
  ~Scratch() { std::remove(path.c_str()); }
  void write(const std::string &bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::string path;
};

/// Opens a TestModel and compares what it computes.
inline void expectRuns(const kiln_api *api) {
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
  ASSERT_EQ(kiln_session_create(model, nullptr, &session), KILN_OK);
  Tensor x({40, 8}), y({40, 4}), z({80, 4});
  x.fill(3);
  DLTensor late = {};
  const DLTensor *inputs[] = {&x.view};
  DLTensor *outputs[] = {&y.view, &z.view, &late};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
  EXPECT_EQ(y.values, Expected(x.values).y);
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
}

inline kiln_status_t openPath(const std::string &path, kiln_artefact *&artefact,
                              std::string &reason, uint32_t flags = 0) {
  char text[512] = "";
  kiln_open_options options = {};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.error = text;
  options.error_size = sizeof text;
  kiln_status_t status = kiln_open(path.c_str(), &options, &artefact);
  reason = text;
  return status;
}

/// End of the last segment before the weights.
inline uint64_t endOfCode(const std::string &bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  uint64_t end = 0;
  for (unsigned i = 0; i != header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && segment.p_align != uint64_t(2) << 20)
      end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

/// Completes the note of `bytes`, as kilnc does; returns where it is.
inline size_t stampNote(std::string &bytes, uint32_t manifest, uint32_t manifestSize) {
  uint64_t covered = endOfCode(bytes);
  size_t place = bytes.find(std::string("Kiln\0\0\0\0\1", 9)) + 8;
  kiln_artefact_note note = {KILN_NOTE_MAJOR, KILN_NOTE_MINOR, 0, uint32_t(covered), 0,
                             manifest,        manifestSize};
  std::memcpy(&bytes[place], &note, sizeof note);
  note.crc32c = kiln::rt::Crc32c()(bytes.data(), covered);
  std::memcpy(&bytes[place], &note, sizeof note);
  return place;
}

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_LOADERSUPPORT_H
