//===- LldJob.cpp - One run of lld in memory ------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LldJob.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace kiln;

static constexpr StringLiteral descriptorFolder = "/proc/self/fd/";

static Error systemError(const char *what) {
  std::error_code code(errno, std::generic_category());
  return createStringError(code, Twine("cannot link: ") + what + ": " + code.message());
}

class LldJob::MemoryFile {
public:
  MemoryFile(StringRef name) : name(name), fd(::memfd_create("kiln", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd >= 0)
      ::close(fd);
  }
  bool write(StringRef bytes) {
    while (fd >= 0 && !bytes.empty()) {
      ssize_t written = sys::RetryAfterSignal(-1, ::write, fd, bytes.data(), bytes.size());
      if (written < 0)
        return false;
      bytes = bytes.drop_front(written);
    }
    return fd >= 0;
  }

  const std::string name;
  const int fd;
};

namespace {

/// The output as lld sees it. It must not be a regular file: lld would map a
/// temporary file beside it, and a full disk would be SIGBUS. For anything else
/// lld builds the output in memory and writes it once.
class PipeSink {
public:
  PipeSink() : good(::pipe2(ends, O_CLOEXEC) == 0) {
    if (!good)
      return;
    // An image with weights has a gap of up to 2 MiB. The size is a wish.
    (void)::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    reader = std::thread([this] {
      char chunk[1 << 16];
      for (ssize_t n;
           (n = sys::RetryAfterSignal(-1, ::read, ends[0], &chunk[0], sizeof(chunk))) > 0;)
        bytes.append(chunk, n);
    });
  }
  ~PipeSink() {
    (void)take();
    if (good)
      ::close(ends[0]);
  }
  std::string take() {
    if (reader.joinable()) {
      ::close(ends[1]);
      reader.join();
    }
    return std::move(bytes);
  }

  int ends[2] = {-1, -1};
  const bool good;

private:
  std::string bytes;
  std::thread reader;
};

} // namespace

LldJob::LldJob() { (void)!failed; }
LldJob::~LldJob() { consumeError(std::move(failed)); }

void LldJob::addFile(StringRef bytes, StringRef name, StringRef prefix) {
  auto file = std::make_unique<MemoryFile>(name);
  if (!failed && !file->write(bytes))
    failed = systemError("no memory file");
  add((prefix + descriptorFolder + Twine(file->fd)).str());
  files.push_back(std::move(file));
}

std::string LldJob::withNames(StringRef text) const {
  std::string result;
  for (size_t at; (at = text.find(descriptorFolder)) != StringRef::npos;) {
    result += text.take_front(at);
    text = text.drop_front(at + descriptorFolder.size());
    int fd = -1;
    text.consumeInteger(10, fd);
    const std::string *name = nullptr;
    for (const auto &file : files)
      if (file->fd == fd)
        name = &file->name;
    result += name ? *name : (descriptorFolder + Twine(fd)).str();
  }
  return result += text;
}

Expected<std::string> LldJob::run() {
  if (failed)
    return std::move(failed);
  PipeSink sink;
  if (!sink.good)
    return systemError("no pipe");
  std::string output = (descriptorFolder + Twine(sink.ends[1])).str();
  std::vector<const char *> argv = {"ld.lld",          "-o",          output.c_str(),
                                    "--error-limit=0", "--threads=1", "--no-color-diagnostics",
                                    "--fatal-warnings"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());

  // lld keeps its state in one global context.
  static std::mutex oneAtATime;
  static bool usable = true;
  std::lock_guard<std::mutex> guard(oneAtATime);
  if (!usable)
    return createStringError("cannot link: the linker crashed before in this process");
  std::string text;
  raw_string_ostream messages(text);
  lld::Result result = lld::lldMain(argv, messages, messages, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0)
    return createStringError("cannot link:\n" + withNames(StringRef(text).rtrim()));
  return sink.take();
}
