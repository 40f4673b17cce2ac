//===- OutputFile.cpp - All or nothing ------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace kiln;

Error OutputFile::failure(int code) const {
  std::error_code ec(code, std::generic_category());
  std::string text = "cannot write ";
  text += shown == "-" ? "to standard output" : "'" + shown + "'";
  text += ": " + ec.message();
  if (code == ENOENT && ::access(folder.c_str(), F_OK) != 0)
    text += " (there is no folder '" + folder + "')";
  return createStringError(ec, text);
}

/// A name that no other thread or process of this machine takes. Short: the
/// target's own name may be as long as the file system allows.
static std::string temporaryName(StringRef folder) {
  static std::atomic<unsigned> count;
  return (folder + "/.kiln-" + Twine(::getpid()) + "-" + Twine(count++)).str();
}

Expected<std::unique_ptr<OutputFile>> OutputFile::create(StringRef path, unsigned mode) {
  std::unique_ptr<OutputFile> file(new OutputFile);
  file->shown = path.str();
  file->folder = ".";
  struct stat status;
  if (path.empty())
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             "cannot write: the output path is empty");
  if (path.contains('\0'))
    return file->failure(EINVAL);
  if (path == "-") {
    file->stream = true;
  } else {
    file->target = path.str();
    if (char *resolved = ::realpath(file->target.c_str(), nullptr)) {
      file->target = resolved;
      std::free(resolved);
    }
    StringRef parent = sys::path::parent_path(file->target);
    if (!parent.empty())
      file->folder = parent.str();
    if (::stat(file->target.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode))
        return file->failure(EISDIR);
      file->stream = !S_ISREG(status.st_mode);
    } else if (errno != ENOENT) {
      return file->failure(errno);
    } else if (path.ends_with("/")) {
      return file->failure(EISDIR);
    }
  }
  if (Error error = file->openTemporary(mode))
    return error;
  return file;
}

Error OutputFile::openTemporary(unsigned mode) {
  if (stream) {
    fd = ::memfd_create("kiln", MFD_CLOEXEC);
    return fd < 0 ? failure(errno) : Error::success();
  }
  fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  // Without O_TMPFILE the call means "open the folder for writing", or the
  // file system says what it cannot do.
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
    return fd < 0 ? failure(errno) : Error::success();
  do {
    temporary = temporaryName(folder);
    fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EEXIST);
  if (fd >= 0)
    return Error::success();
  int code = errno;
  temporary.clear();
  return failure(code);
}

OutputFile::~OutputFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Error OutputFile::write(uint64_t offset, ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t n = sys::RetryAfterSignal(-1, ::pwrite, fd, bytes.data(), bytes.size(), offset);
    if (n < 0)
      return failure(errno);
    offset += n;
    bytes = bytes.drop_front(n);
  }
  return Error::success();
}

Error OutputFile::write(uint64_t offset, StringRef bytes) {
  return write(offset, arrayRefFromStringRef(bytes));
}

Error OutputFile::read(uint64_t offset, MutableArrayRef<uint8_t> bytes) const {
  while (!bytes.empty()) {
    ssize_t n = sys::RetryAfterSignal(-1, ::pread, fd, bytes.data(), bytes.size(), offset);
    if (n <= 0)
      return failure(n < 0 ? errno : EIO);
    offset += n;
    bytes = bytes.drop_front(n);
  }
  return Error::success();
}

Error OutputFile::resize(uint64_t size) {
  int result = sys::RetryAfterSignal(-1, ::ftruncate, fd, size);
  return result < 0 ? failure(errno) : Error::success();
}

Error OutputFile::copyToStream() {
  int out = STDOUT_FILENO;
  if (shown != "-")
    out = sys::RetryAfterSignal(-1, ::open, target.c_str(), O_WRONLY | O_CLOEXEC);
  if (out < 0)
    return failure(errno);
  int code = 0;
  char chunk[1 << 16];
  for (uint64_t offset = 0; !code;) {
    ssize_t n = sys::RetryAfterSignal(-1, ::pread, fd, &chunk[0], sizeof(chunk), offset);
    if (n < 0)
      code = errno;
    if (n <= 0)
      break;
    offset += n;
    for (char *next = chunk, *end = chunk + n; next != end && !code;) {
      ssize_t written = sys::RetryAfterSignal(-1, ::write, out, next, end - next);
      if (written < 0)
        code = errno;
      else
        next += written;
    }
  }
  if (out != STDOUT_FILENO && ::close(out) != 0 && !code)
    code = errno;
  return code ? failure(code) : Error::success();
}

Error OutputFile::commit() {
  if (stream)
    return copyToStream();
  if (temporary.empty()) {
    std::string self = "/proc/self/fd/" + std::to_string(fd), name;
    int result;
    do {
      name = temporaryName(folder);
      result = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    } while (result != 0 && errno == EEXIST);
    if (result != 0)
      return failure(errno);
    temporary = name;
  }
  // Some file systems report a failed write here, and only here.
  int closed = ::close(std::exchange(fd, -1));
  if (closed != 0 || ::rename(temporary.c_str(), target.c_str()) != 0)
    return failure(errno);
  temporary.clear();
  return Error::success();
}

Error kiln::writeFileAtomically(StringRef path, StringRef bytes, unsigned mode) {
  return writeFileAtomically(
      path,
      [&](raw_ostream &stream) {
        stream << bytes;
        return Error::success();
      },
      mode);
}

Error kiln::writeFileAtomically(StringRef path, function_ref<Error(raw_ostream &)> print,
                                unsigned mode) {
  Expected<std::unique_ptr<OutputFile>> file = OutputFile::create(path, mode);
  if (!file)
    return file.takeError();
  {
    raw_fd_ostream stream((*file)->descriptor(), /*shouldClose=*/false);
    Error error = print(stream);
    stream.flush();
    std::error_code code = stream.error();
    // An error that nobody looks at ends the process in the destructor.
    stream.clear_error();
    if (error)
      return error;
    if (code)
      return (*file)->failed(code);
  }
  return (*file)->commit();
}
