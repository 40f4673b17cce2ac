//===- ReadFile.h - Reading at an offset --------------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_LIBKILN_READFILE_H
#define KILN_RUNTIME_LIBKILN_READFILE_H

#include "Support.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace kiln::rt {

/// What was read of `size` bytes, less only at the end of the file; -1 with errno.
inline int64_t readUpTo(int fd, void *into, uint64_t size, uint64_t offset) {
  uint64_t done = 0;
  while (done != size) {
    ssize_t got = pread(fd, static_cast<uint8_t *>(into) + done, size - done, off_t(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    done += uint64_t(got);
  }
  return int64_t(done);
}

/// KILN_IO, or KILN_CORRUPT when the file ends before.
inline kiln_status_t readExactly(int fd, void *into, uint64_t size, uint64_t offset,
                                 ErrorText &error) {
  int64_t got = readUpTo(fd, into, size, offset);
  if (got < 0)
    return error.fail(KILN_IO, "cannot read: %s", std::strerror(errno));
  return uint64_t(got) == size ? KILN_OK : error.fail(KILN_CORRUPT, "cut short while it was read");
}

} // namespace kiln::rt

#endif // KILN_RUNTIME_LIBKILN_READFILE_H
