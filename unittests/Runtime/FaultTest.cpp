//===- FaultTest.cpp - Files that change, memory that decays --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing wrong is given out as right where a check covers it.
//
//===----------------------------------------------------------------------===//
#include "LoaderSupport.h"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace kiln::test;

namespace {

/// What kilnc would have written: with a note that covers code and manifest.
std::string completeArtefact() {
  std::string bytes = readBytes(artefactPath("noted"));
  const std::string manifest = "{\"format\":\"kiln-manifest 1.0\"}";
  stampNote(bytes, uint32_t(bytes.find(manifest)), uint32_t(manifest.size()));
  return bytes;
}

} // namespace

TEST(Fault, AFlippedBitAnywhereInTheFileIsRefusedOrHarmless) {
  const std::string whole = completeArtefact();
  std::mt19937 random(1);
  uint64_t code = endOfCode(whole), refused = 0, harmless = 0;
  constexpr uint64_t weights = uint64_t(2) << 20;
  Scratch file("");
  constexpr int rounds = 400;
  for (int i = 0; i != rounds; ++i) {
    // Half in the code, its headers and tables, the rest anywhere.
    uint64_t at = i % 2 ? random() % code : random() % whole.size();
    if (i % 10 == 0)
      at = weights + random() % 144;
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 1 << random() % 8);
    file.write(damaged);
    kiln_artefact *artefact = nullptr;
    std::string reason;
    kiln_status_t status = openPath(file.path, artefact, reason);
    bool covered = at < code || (at >= weights && at < weights + 144);
    EXPECT_TRUE(status != KILN_OK || !covered) << "byte " << at;
    if (status == KILN_OK) {
      // In what aligns the weights, or in tables that nothing reads.
      ++harmless;
      expectRuns(kiln_artefact_api(artefact));
      EXPECT_EQ(kiln_close(artefact), KILN_OK);
    } else {
      ++refused;
      EXPECT_FALSE(reason.empty());
    }
  }
  EXPECT_GT(refused, uint64_t(rounds / 2));
  EXPECT_GT(harmless, 0u);
}

TEST(Fault, AnyTruncationIsRefused) {
  const std::string whole = completeArtefact();
  // All that is loaded; section headers behind it are for people's tools.
  uint64_t loaded = (uint64_t(2) << 20) + 144;
  std::mt19937 random(2);
  Scratch file("");
  for (int i = 0; i != 60; ++i) {
    file.write(whole.substr(0, i ? random() % loaded : 0));
    kiln_artefact *artefact = nullptr;
    std::string reason;
    EXPECT_NE(openPath(file.path, artefact, reason), KILN_OK);
  }
}

TEST(Fault, AFileThatIsReplacedOrCutUnderARunningModel) {
  const std::string whole = completeArtefact();
  Scratch file(whole);
  std::atomic<bool> stop{false};
  // Mapped weights survive what goes by a new file; copied ones also a cut in place.
  std::vector<std::thread> threads;
  std::vector<kiln_artefact *> opened;
  for (uint32_t flags : {0u, uint32_t(KILN_OPEN_COPY_WEIGHTS)}) {
    kiln_artefact *artefact = nullptr;
    std::string reason;
    ASSERT_EQ(openPath(file.path, artefact, reason, flags), KILN_OK) << reason;
    opened.push_back(artefact);
    threads.emplace_back([artefact, &stop] {
      while (!stop)
        expectRuns(kiln_artefact_api(artefact));
    });
  }
  std::string other = file.path + ".new";
  for (int i = 0; i != 20; ++i) {
    // Swapped for one that is damaged, for another, and away.
    std::ofstream(other, std::ios::binary) << whole.substr(0, 1000);
    ASSERT_EQ(rename(other.c_str(), file.path.c_str()), 0);
    kiln_artefact *artefact = nullptr;
    std::string reason;
    EXPECT_EQ(openPath(file.path, artefact, reason), KILN_CORRUPT) << reason;
    std::remove(file.path.c_str());
    EXPECT_EQ(openPath(file.path, artefact, reason), KILN_IO) << reason;
    std::ofstream(other, std::ios::binary) << readBytes(artefactPath("second"));
    ASSERT_EQ(rename(other.c_str(), file.path.c_str()), 0);
    ASSERT_EQ(openPath(file.path, artefact, reason), KILN_OK) << reason;
    EXPECT_EQ(kiln_close(artefact), KILN_OK);
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  for (kiln_artefact *artefact : opened)
    EXPECT_EQ(kiln_close(artefact), KILN_OK);
}

TEST(Fault, AFileThatIsWrittenToWhileItIsOpened) {
  const std::string whole = completeArtefact();
  Scratch file(whole);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937 random(3);
    int fd = open(file.path.c_str(), O_RDWR);
    while (!stop) {
      // A byte of code or tables, for a moment.
      off_t at = off_t(random() % endOfCode(whole));
      char changed = char(whole[size_t(at)] ^ 1);
      EXPECT_EQ(pwrite(fd, &changed, 1, at), 1);
      EXPECT_EQ(pwrite(fd, &whole[size_t(at)], 1, at), 1);
    }
    close(fd);
  });
  int opened = 0;
  for (int i = 0; i != 200; ++i) {
    kiln_artefact *artefact = nullptr;
    std::string reason;
    // What is loaded is what was checked, whole.
    if (openPath(file.path, artefact, reason, KILN_OPEN_COPY_WEIGHTS) != KILN_OK)
      continue;
    ++opened;
    expectRuns(kiln_artefact_api(artefact));
    EXPECT_EQ(kiln_close(artefact), KILN_OK);
  }
  stop = true;
  writer.join();
  SUCCEED() << opened;
}
