//===- LoaderTest.cpp - libkiln: what is opened, what is refused ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Crc32c.h"
#include "LoaderSupport.h"
#include "kiln-c/ArtefactNote.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace kiln::test;

namespace {

void expectRefused(const std::string &path, kiln_status_t status, const char *part,
                   uint32_t flags = 0) {
  kiln_artefact *artefact = nullptr;
  std::string reason;
  EXPECT_EQ(openPath(path, artefact, reason, flags), status) << reason;
  EXPECT_NE(reason.find(part), std::string::npos) << reason;
  EXPECT_EQ(artefact, nullptr);
  if (artefact)
    kiln_close(artefact);
}

} // namespace

TEST(Loader, OpensAndRuns) {
  for (const char *name : {"model", "plain", "second"})
    for (uint32_t flags :
         {0u, uint32_t(KILN_OPEN_COPY_WEIGHTS), uint32_t(KILN_OPEN_TRUST_WEIGHTS)}) {
      kiln_artefact *artefact = nullptr;
      std::string reason;
      ASSERT_EQ(openPath(artefactPath(name), artefact, reason, flags), KILN_OK) << reason;
      EXPECT_TRUE(kiln_artefact_is_sealed(artefact));
      expectRuns(kiln_artefact_api(artefact));
      EXPECT_EQ(kiln_close(artefact), KILN_OK);
    }
}

TEST(Loader, OpensDescriptors) {
  int fd = open(artefactPath("model").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  kiln_artefact *artefact = nullptr;
  EXPECT_EQ(kiln_open_fd(fd, nullptr, &artefact), KILN_OK);
  close(fd);
  expectRuns(kiln_artefact_api(artefact));
  EXPECT_EQ(kiln_close(artefact), KILN_OK);
}

TEST(Loader, TwoArtefactsDoNotClash) {
  kiln_artefact *first = nullptr, *second = nullptr, *again = nullptr;
  std::string reason;
  ASSERT_EQ(openPath(artefactPath("model"), first, reason), KILN_OK);
  ASSERT_EQ(openPath(artefactPath("second"), second, reason), KILN_OK);
  ASSERT_EQ(openPath(artefactPath("model"), again, reason), KILN_OK);
  EXPECT_NE(kiln_artefact_api(first), kiln_artefact_api(second));
  kiln_model *model = nullptr;
  ASSERT_EQ(kiln_model_open(kiln_artefact_api(second), nullptr, &model), KILN_OK);
  kiln_model_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(kiln_model_get_info(model, &info), KILN_OK);
  EXPECT_STREQ(info.name, "second");
  EXPECT_EQ(kiln_close(second), KILN_BUSY);
  EXPECT_EQ(kiln_close(first), KILN_OK);
  expectRuns(kiln_artefact_api(second));
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
  EXPECT_EQ(kiln_close(second), KILN_OK);
  EXPECT_EQ(kiln_close(again), KILN_OK);
}

TEST(Loader, SharedExecutorOutlivesArtefacts) {
  kiln_executor_options options = {};
  options.struct_size = sizeof options;
  options.threads = 2;
  kiln_executor *executor = nullptr;
  ASSERT_EQ(kiln_shared_executor_create(&options, &executor), KILN_OK);
  for (const char *name : {"model", "second"}) {
    kiln_artefact *artefact = nullptr;
    std::string reason;
    ASSERT_EQ(openPath(artefactPath(name), artefact, reason), KILN_OK);
    kiln_model *model = nullptr;
    ASSERT_EQ(kiln_model_open(kiln_artefact_api(artefact), nullptr, &model), KILN_OK);
    kiln_session_options sessionOptions = {};
    sessionOptions.struct_size = sizeof sessionOptions;
    sessionOptions.executor = executor;
    kiln_session *session = nullptr;
    ASSERT_EQ(kiln_session_create(model, &sessionOptions, &session), KILN_OK);
    EXPECT_EQ(kiln_executor_destroy(executor), KILN_BUSY);
    Tensor x({64, 8});
    x.fill(1);
    const DLTensor *inputs[] = {&x.view};
    DLTensor y = {}, z = {}, late = {};
    DLTensor *outputs[] = {&y, &z, &late};
    for (int i = 0; i != 100; ++i) {
      y.data = z.data = late.data = nullptr;
      ASSERT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK);
    }
    EXPECT_EQ(std::memcmp(y.data, Expected(x.values).y.data(), 64 * 16), 0);
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    EXPECT_EQ(kiln_close(artefact), KILN_OK);
  }
  EXPECT_EQ(kiln_executor_destroy(executor), KILN_OK);
}

TEST(Loader, CyclesLeaveNothing) {
  auto countMappings = [] {
    std::string maps = readBytes("/proc/self/maps");
    return std::count(maps.begin(), maps.end(), '\n');
  };
  for (int i = 0; i != 10; ++i) {
    kiln_artefact *artefact = nullptr;
    std::string reason;
    ASSERT_EQ(openPath(artefactPath("model"), artefact, reason), KILN_OK) << reason;
    ASSERT_EQ(kiln_close(artefact), KILN_OK);
  }
  auto before = countMappings();
#ifdef KILN_UNDER_TSAN
  constexpr int cycles = 200;
#else
  constexpr int cycles = 1000;
#endif
  for (int i = 0; i != cycles; ++i) {
    kiln_artefact *artefact = nullptr;
    std::string reason;
    ASSERT_EQ(openPath(artefactPath(i % 2 ? "model" : "second"), artefact, reason), KILN_OK)
        << reason;
    if (i % 10 == 0)
      expectRuns(kiln_artefact_api(artefact));
    ASSERT_EQ(kiln_close(artefact), KILN_OK);
  }
#ifndef KILN_UNDER_TSAN // whose own mappings grow
  EXPECT_LE(countMappings(), before + 4);
#else
  (void)before;
#endif
}

TEST(Loader, RefusesWhatIsNoArtefact) {
  kiln_artefact *artefact = nullptr;
  EXPECT_EQ(kiln_open(nullptr, nullptr, &artefact), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_open("x", nullptr, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_open_fd(-1, nullptr, &artefact), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_close(nullptr), KILN_OK);
  expectRefused("/nonexistent/model.so", KILN_IO, "No such file");
  expectRefused("/tmp", KILN_INVALID_ARTEFACT, "not a regular file");
  Scratch file("hello");
  expectRefused(file.path, KILN_INVALID_ARTEFACT, "not an ELF file");
  file.write("");
  expectRefused(file.path, KILN_INVALID_ARTEFACT, "not an ELF file");
  expectRefused("/proc/self/exe", KILN_INVALID_ARTEFACT, "not an artefact");
  // A library that is none of Kiln's: nothing of it may run.
  expectRefused("/lib/" KILN_TEST_ARCHITECTURE "/libm.so.6", KILN_INVALID_ARTEFACT,
                "exports no kiln_model_query");
  file.write(readBytes(artefactPath("model")));
  expectRefused(file.path, KILN_INVALID_ARGUMENT, "unknown bits", 1u << 30);
}

TEST(Loader, RefusesTruncatedFilesOfEveryLength) {
  std::string whole = readBytes(artefactPath("plain"));
  for (size_t size : {size_t(1), size_t(63), size_t(64), size_t(100), size_t(600), size_t(4096),
                      size_t(20000), whole.size() / 2}) {
    Scratch file(whole.substr(0, size));
    kiln_artefact *artefact = nullptr;
    std::string reason;
    kiln_status_t status = openPath(file.path, artefact, reason);
    EXPECT_TRUE(status == KILN_CORRUPT || status == KILN_INVALID_ARTEFACT) << size << reason;
  }
  std::string model = readBytes(artefactPath("model"));
  Scratch file(model.substr(0, (size_t(2) << 20) + 10));
  expectRefused(file.path, KILN_CORRUPT, "cut short");
}

TEST(Loader, RefusesForeignArtefacts) {
  expectRefused(artefactPath("foreign_cpu"), KILN_CPU_UNSUPPORTED, "no imaginary");
  expectRefused(artefactPath("foreign_abi"), KILN_ABI_MISMATCH, "module ABI 9.");
  std::string bytes = readBytes(artefactPath("model"));
  bytes[18] = char(0xf3); // e_machine: RISC-V
  bytes[19] = 0;
  Scratch file(bytes);
  expectRefused(file.path, KILN_CPU_UNSUPPORTED, "built for RISC-V");
}

TEST(Loader, FindsDamagedWeights) {
  expectRefused(artefactPath("bad_weights"), KILN_CORRUPT, "weight 'W' is damaged");
  std::string bytes = readBytes(artefactPath("model"));
  bytes[(size_t(2) << 20) + 130] ^= 1;
  Scratch file(bytes);
  expectRefused(file.path, KILN_CORRUPT, "weight 'bias' is damaged");
  kiln_artefact *artefact = nullptr;
  std::string reason;
  ASSERT_EQ(openPath(file.path, artefact, reason, KILN_OPEN_TRUST_WEIGHTS), KILN_OK) << reason;
  EXPECT_EQ(kiln_close(artefact), KILN_OK);
}

TEST(Loader, DamagedMemoryIsReadAgainFromTheFile) {
  Scratch file(readBytes(artefactPath("model")));
  kiln_artefact *artefact = nullptr;
  std::string reason;
  ASSERT_EQ(openPath(file.path, artefact, reason), KILN_OK) << reason;
  kiln_integrity_options watch = {};
  watch.struct_size = sizeof watch;
  watch.rate = KILN_CHECK_EVERY_RUN;
  watch.flags = KILN_INTEGRITY_KEYED;
  watch.reload = kiln_artefact_reload;
  watch.reload_user = artefact;
  kiln_model_options options = {};
  options.struct_size = sizeof options;
  options.integrity = &watch;
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  ASSERT_EQ(kiln_model_open(kiln_artefact_api(artefact), &options, &model), KILN_OK);
  ASSERT_EQ(kiln_session_create(model, nullptr, &session), KILN_OK);
  // Where the weights are mapped.
  uintptr_t weights = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(file.path) != std::string::npos)
      weights = std::stoul(line, nullptr, 16);
  ASSERT_NE(weights, 0u);
  ASSERT_EQ(mprotect(reinterpret_cast<void *>(weights), 4096, PROT_READ | PROT_WRITE), 0);
  // The name no longer leads to the file; the descriptor does.
  std::remove(file.path.c_str());
  *reinterpret_cast<uint8_t *>(weights + 5) ^= 16;
  Tensor x({40, 8}), y({40, 4}), z({80, 4});
  x.fill(3);
  DLTensor late = {};
  const DLTensor *inputs[] = {&x.view};
  DLTensor *outputs[] = {&y.view, &z.view, &late};
  EXPECT_EQ(kiln_run(session, inputs, 1, outputs, 3, nullptr), KILN_OK)
      << kiln_session_error(session);
  EXPECT_EQ(y.values, Expected(x.values).y);
  kiln_integrity_stats stats = {};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(kiln_model_get_integrity(model, &stats), KILN_OK);
  EXPECT_EQ(stats.reloaded, 1u);
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
  uint8_t byte;
  EXPECT_EQ(kiln_artefact_reload(artefact, 1 << 30, 1, &byte), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_artefact_reload(artefact, UINT64_MAX, 2, &byte), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_artefact_reload(nullptr, 0, 1, &byte), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_close(artefact), KILN_OK);
}

TEST(Loader, ChecksWhereTheManifestIs) {
  const std::string bytes = readBytes(artefactPath("noted"));
  const std::string text = "{\"format\":\"kiln-manifest 1.0\"}";
  auto at = uint32_t(bytes.find(text)), size = uint32_t(text.size());
  ASSERT_NE(bytes.find(text), std::string::npos);
  std::string whole = bytes;
  stampNote(whole, at, size);
  Scratch file(whole);
  kiln_artefact *artefact = nullptr;
  std::string reason;
  ASSERT_EQ(openPath(file.path, artefact, reason), KILN_OK) << reason;
  EXPECT_EQ(kiln_artefact_manifest(artefact), text);
  EXPECT_EQ(kiln_close(artefact), KILN_OK);
  struct Place {
    uint32_t at, size;
  } const wrong[] = {{0, size},
                     {at + 1, size - 1},
                     {at, size - 1},
                     {at, size + 1},
                     {at, UINT32_MAX},
                     {UINT32_MAX, size},
                     {uint32_t(endOfCode(bytes)) - 1, size}};
  for (const Place &place : wrong) {
    std::string damaged = bytes;
    stampNote(damaged, place.at, place.size);
    file.write(damaged);
    expectRefused(file.path, KILN_CORRUPT, "its manifest is");
  }
  std::string other = bytes;
  other[at + text.find('1')] = '2';
  stampNote(other, at, size);
  file.write(other);
  expectRefused(file.path, KILN_CORRUPT, "none of kiln-manifest 1");
}

TEST(Loader, FindsDamagedCode) {
  std::string bytes = readBytes(artefactPath("noted"));
  uint64_t covered = endOfCode(bytes);
  size_t place = stampNote(bytes, 0, 0);
  Scratch file(bytes);
  kiln_artefact *artefact = nullptr;
  std::string reason;
  ASSERT_EQ(openPath(file.path, artefact, reason), KILN_OK) << reason;
  expectRuns(kiln_artefact_api(artefact));
  EXPECT_EQ(kiln_close(artefact), KILN_OK);
  for (size_t byte : {size_t(17000), place + 4, size_t(30000), size_t(covered) - 1}) {
    std::string damaged = bytes;
    damaged[byte] ^= 4;
    file.write(damaged);
    expectRefused(file.path, KILN_CORRUPT, "the code is damaged");
  }
}

TEST(Loader, LaterWritesToTheFileDoNotReachTheCode) {
  std::string bytes = readBytes(artefactPath("model"));
  Scratch file(bytes);
  kiln_artefact *artefact = nullptr;
  std::string reason;
  ASSERT_EQ(openPath(file.path, artefact, reason, KILN_OPEN_COPY_WEIGHTS), KILN_OK) << reason;
  // In place, even to nothing at all.
  ASSERT_EQ(truncate(file.path.c_str(), 0), 0);
  expectRuns(kiln_artefact_api(artefact));
  EXPECT_EQ(kiln_close(artefact), KILN_OK);
}

TEST(Loader, ManyThreadsOpenAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i != 25; ++i) {
        kiln_artefact *artefact = nullptr;
        std::string reason;
        ASSERT_EQ(openPath(artefactPath((t + i) % 2 ? "model" : "second"), artefact, reason),
                  KILN_OK)
            << reason;
        expectRuns(kiln_artefact_api(artefact));
        ASSERT_EQ(kiln_close(artefact), KILN_OK);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
