//===- SealedCopy.cpp - A copy of an artefact that nobody can change ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "SealedCopy.h"

#include "ReadFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

namespace kiln::rt {
namespace {

/// A kernel that insists on it (vm.memfd_noexec) wants the flag, an old one
/// does not know it.
int createMemoryFile() {
  int fd = memfd_create("kiln", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL)
    fd = memfd_create("kiln", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return fd;
}

/// Reads the code, and checks that the headers are still those of `layout`.
kiln_status_t readAndCheck(int fd, const ElfLayout &layout, const Signature &signature,
                           uint8_t *code, ErrorText &error) {
  if (kiln_status_t status = readExactly(fd, code, layout.codeEnd, 0, error))
    return status;
  if (kiln_status_t status = signature.check(fd, code, 0, layout.codeEnd, error))
    return status;
  ElfLayout copied;
  if (kiln_status_t status =
          readLayout(code, std::min(layout.codeEnd, kHeaderBytes), layout.fileSize, copied, error))
    return status;
  if (copied.codeEnd != layout.codeEnd || copied.numSegments != layout.numSegments ||
      std::memcmp(copied.segments, layout.segments, layout.numSegments * sizeof(Elf64_Phdr)) != 0)
    return error.fail(KILN_CORRUPT, "changed while it was read");
  return checkContents(code, layout, error);
}

} // namespace

kiln_status_t makeSealedCopy(int fd, const ElfLayout &layout, const Signature &signature,
                             int &sealed, ErrorText &error) {
  sealed = -1;
  int copy = createMemoryFile();
  if (copy < 0)
    return error.fail(KILN_UNSUPPORTED, "no memory file: %s", std::strerror(errno));
  kiln_status_t status = KILN_OK;
  if (ftruncate(copy, off_t(layout.fileSize)) != 0)
    status = error.fail(KILN_OUT_OF_MEMORY, "no memory for a copy: %s", std::strerror(errno));
  void *mapped = MAP_FAILED;
  if (status == KILN_OK) {
    mapped = mmap(nullptr, layout.codeEnd, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    if (mapped == MAP_FAILED)
      status = error.fail(KILN_OUT_OF_MEMORY, "no memory for a copy: %s", std::strerror(errno));
  }
  if (status == KILN_OK)
    status = readAndCheck(fd, layout, signature, static_cast<uint8_t *>(mapped), error);
  // Before the seal, which no writable mapping may outlive.
  if (mapped != MAP_FAILED)
    munmap(mapped, layout.codeEnd);
  constexpr int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (status == KILN_OK && fcntl(copy, F_ADD_SEALS, seals) != 0)
    status = error.fail(KILN_UNSUPPORTED, "cannot seal a copy: %s", std::strerror(errno));
  if (status == KILN_OK)
    sealed = copy;
  else
    close(copy);
  return status;
}

kiln_status_t checkInPlace(int fd, const ElfLayout &layout, ErrorText &error) {
  auto *code = static_cast<uint8_t *>(std::malloc(layout.codeEnd));
  if (!code)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory to check %llu bytes of code",
                      static_cast<unsigned long long>(layout.codeEnd));
  kiln_status_t status = readAndCheck(fd, layout, Signature(), code, error);
  std::free(code);
  return status;
}

} // namespace kiln::rt
