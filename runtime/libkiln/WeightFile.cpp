//===- WeightFile.cpp - Reading weights again -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "WeightFile.h"

#include "ReadFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace kiln::rt {
namespace {

/// Reads with O_DIRECT want offset, size and memory to be multiples of a block.
constexpr uint64_t kBlock = 4096;
constexpr uint64_t kBuffer = uint64_t(256) << 10;

kiln_status_t readDirect(int fd, uint64_t offset, uint64_t size, uint8_t *into) {
  void *buffer = std::aligned_alloc(kBlock, kBuffer);
  if (!buffer)
    return KILN_OUT_OF_MEMORY;
  kiln_status_t status = KILN_OK;
  for (uint64_t at = offset; at != offset + size && status == KILN_OK;) {
    uint64_t first = at & ~(kBlock - 1), skipped = at - first;
    int64_t got = readUpTo(fd, buffer, kBuffer, first);
    if (got <= int64_t(skipped)) {
      status = KILN_IO;
      break;
    }
    uint64_t useful = std::min(uint64_t(got) - skipped, offset + size - at);
    std::memcpy(into + (at - offset), static_cast<uint8_t *>(buffer) + skipped, useful);
    at += useful;
  }
  std::free(buffer);
  return status;
}

} // namespace

WeightFile::~WeightFile() {
  for (int file : {fd, directFd})
    if (file >= 0)
      close(file);
}

void WeightFile::open(int file, const Elf64_Phdr &segment) {
  begin = segment.p_offset;
  length = segment.p_filesz;
  fd = fcntl(file, F_DUPFD_CLOEXEC, 0);
  char name[64];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  directFd = ::open(name, O_RDONLY | O_CLOEXEC | O_DIRECT);
}

kiln_status_t WeightFile::read(uint64_t offset, uint64_t size, void *into) const {
  if (fd < 0)
    return KILN_UNSUPPORTED;
  if (offset > length || size > length - offset)
    return KILN_INVALID_ARGUMENT;
  auto *bytes = static_cast<uint8_t *>(into);
  if (kiln_status_t status = readAgain(offset, size, bytes))
    return status;
  ErrorText error;
  return signature.check(fd, bytes, begin + offset, size, error);
}

kiln_status_t WeightFile::readAgain(uint64_t offset, uint64_t size, uint8_t *bytes) const {
  if (directFd >= 0 && readDirect(directFd, begin + offset, size, bytes) == KILN_OK)
    return KILN_OK;
  // Without that, ask for the cache to be dropped; pages that are mapped stay.
  posix_fadvise(fd, off_t(begin + offset), off_t(size), POSIX_FADV_DONTNEED);
  return readUpTo(fd, bytes, size, begin + offset) == int64_t(size) ? KILN_OK : KILN_IO;
}

} // namespace kiln::rt
