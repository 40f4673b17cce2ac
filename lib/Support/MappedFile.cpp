//===- MappedFile.cpp - A file as read-only memory ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Support/MappedFile.h"
#include "kiln/Support/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace kiln;

static std::string errorText(int code) { return std::generic_category().message(code); }

static const char *kindOf(mode_t mode) {
  if (S_ISDIR(mode))
    return "a directory";
  if (S_ISFIFO(mode))
    return "a pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode))
    return "a device";
  if (S_ISSOCK(mode))
    return "a socket";
  return "a special file";
}

std::shared_ptr<const MappedFile> MappedFile::open(llvm::StringRef path, Failure &failure) {
  std::string name = path.str();
  auto fail = [&](Failure::Kind kind, std::string text) {
    failure = {kind, std::move(text)};
    return nullptr;
  };
  auto failErrno = [&](int code) {
    bool missing = code == ENOENT || code == ENOTDIR;
    return fail(missing ? Failure::NotFound : Failure::System, errorText(code));
  };
  if (path.contains('\0'))
    return fail(Failure::NotFound, "the path holds a zero byte");
  // Looked at before it is opened: opening a device or a FIFO has effects.
  struct stat info;
  if (stat(name.c_str(), &info) != 0)
    return failErrno(errno);
  if (!S_ISREG(info.st_mode))
    return fail(Failure::NotRegular, kindOf(info.st_mode));
  int fd;
  do
    fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  if (fd < 0)
    return failErrno(errno);
  // Again on the descriptor: the path may name another file by now.
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return fail(Failure::NotRegular, "no longer a file");
  }
  size_t size = static_cast<size_t>(info.st_size);
  const uint8_t *data = nullptr;
  if (size != 0) {
    void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) {
      int code = errno;
      ::close(fd);
      return failErrno(code);
    }
    data = static_cast<const uint8_t *>(memory);
  }
  ::close(fd);
  return std::shared_ptr<const MappedFile>(new MappedFile(std::move(name), data, size));
}

std::shared_ptr<const MappedFile> MappedFile::open(llvm::StringRef path, DiagnosticEngine &diags) {
  Failure failure;
  auto file = open(path, failure);
  std::string shown = printable(path);
  switch (failure.kind) {
  case Failure::None:
    return file;
  case Failure::NotFound:
    diags.report(Diag::FileNotFound, shown);
    return nullptr;
  case Failure::NotRegular:
    diags.report(Diag::NotARegularFile, shown, failure.text);
    return nullptr;
  case Failure::System:
    diags.report(Diag::FileUnreadable, shown, failure.text);
    return nullptr;
  }
  llvm_unreachable("unknown failure");
}

MappedFile::~MappedFile() {
  if (begin)
    munmap(const_cast<uint8_t *>(begin), length);
}
