//===- Symbolizer.cpp - Lines of a module's code --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One llvm-symbolizer for all places of a launch, 25-35 ms for 60 of them.
//
//===----------------------------------------------------------------------===//
#include "Symbolizer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace kiln::cudasim {
namespace {

bool isOurs(const std::string &frame) {
  return frame.find("kiln/cudasim/") != std::string::npos ||
         frame.find("kiln/cuda/Device.h") != std::string::npos;
}

/// Everything that the program writes, given `input`; empty where it does not run.
std::string run(const char *program, const std::string &object, const std::string &input) {
  const int in = memfd_create("kiln-places", MFD_CLOEXEC),
            out = memfd_create("kiln-lines", MFD_CLOEXEC);
  std::string result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const std::string obj = "--obj=" + object;
  const char *arguments[] = {program, "--inlines", "--functions=none", obj.c_str(), nullptr};
  pid_t child;
  if (in >= 0 && out >= 0 && write(in, input.data(), input.size()) == ssize_t(input.size()) &&
      lseek(in, 0, SEEK_SET) == 0 &&
      posix_spawnp(&child, program, &actions, nullptr, const_cast<char **>(arguments), environ) ==
          0) {
    int status = 0;
    pid_t ended;
    do
      ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    const off_t size = lseek(out, 0, SEEK_END);
    if (ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && size > 0) {
      result.resize(size);
      if (pread(out, result.data(), size, 0) != size)
        result.clear();
    }
  }
  posix_spawn_file_actions_destroy(&actions);
  close(in);
  close(out);
  return result;
}

std::string symbolize(const std::string &object, const std::string &input) {
  const char *chosen = getenv("KILN_SIM_SYMBOLIZER");
  for (const char *program :
       {chosen, "llvm-symbolizer-22", "llvm-symbolizer", "/usr/lib/llvm-22/bin/llvm-symbolizer"}) {
    if (!program || !*program)
      continue;
    std::string out = run(program, object, input);
    if (!out.empty())
      return out;
  }
  return "";
}

/// "path/file.cu:12:3" -> "file.cu:12"; empty for a place without a line.
std::string shortened(const std::string &frame) {
  const size_t column = frame.rfind(':');
  const std::string line = frame.substr(0, column);
  if (line.compare(0, 2, "??") == 0 || line.empty())
    return "";
  return line.substr(line.rfind('/') + 1);
}

} // namespace

std::vector<std::string> namePlaces(const LoadedModule &module, const std::vector<uint32_t> &pcs) {
  std::vector<std::string> names(pcs.size());
  std::string input;
  char buffer[32];
  for (uint32_t pc : pcs) { // A return address is behind the call.
    snprintf(buffer, sizeof buffer, "%#x\n", pc - 1);
    input += buffer;
  }
  // This process's descriptor, as the child finds it.
  const std::string object =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(module.copies.front().file);
  const std::string lines = pcs.empty() ? "" : symbolize(object, input);
  size_t k = 0;
  for (size_t at = 0; at < lines.size() && k < pcs.size();) {
    size_t end = lines.find('\n', at);
    if (end == std::string::npos)
      end = lines.size();
    const std::string frame = lines.substr(at, end - at);
    at = end + 1;
    if (frame.empty()) {
      ++k;
      continue;
    }
    const std::string line = isOurs(frame) ? "" : shortened(frame);
    if (!line.empty())
      names[k] += (names[k].empty() ? "" : " < ") + line;
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].empty()) {
      snprintf(buffer, sizeof buffer, "+%#x", pcs[i]);
      names[i] = buffer;
    }
  return names;
}

} // namespace kiln::cudasim
