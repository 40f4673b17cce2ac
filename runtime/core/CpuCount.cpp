//===- CpuCount.cpp - How many CPUs the process may use -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cpu.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace kiln::rt {

/// Length of what was read, 0 when the file cannot be.
static size_t readText(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  ssize_t length = read(fd, text, size - 1);
  close(fd);
  text[length > 0 ? length : 0] = 0;
  return length > 0 ? size_t(length) : 0;
}

/// Decimal digits at `text`; false when there is none.
static bool parseNumber(const char *&text, uint64_t &value) {
  const char *start = text;
  for (value = 0; *text >= '0' && *text <= '9' && text - start < 18; ++text)
    value = value * 10 + uint64_t(*text - '0');
  return text != start;
}

/// The quota of `cpu.max` ("200000 100000" or "max 100000") as whole CPUs.
static uint32_t quotaOf(const char *text) {
  uint64_t quota, period;
  if (!parseNumber(text, quota) || *text++ != ' ' || !parseNumber(text, period) || !period)
    return UINT32_MAX;
  return uint32_t(std::clamp<uint64_t>((quota + period - 1) / period, 1, UINT32_MAX));
}

/// The tightest quota of the process's control group and those above it.
static uint32_t controlGroupQuota() {
  char groups[2048];
  if (!readText("/proc/self/cgroup", groups, sizeof groups))
    return UINT32_MAX;
  // The unified hierarchy is the line "0::/path".
  char *line = std::strstr(groups, "0::/");
  if (!line || (line != groups && line[-1] != '\n'))
    return UINT32_MAX;
  char *group = line + 3;
  if (char *end = std::strchr(group, '\n'))
    *end = 0;
  uint32_t least = UINT32_MAX;
  for (;;) {
    char path[2304], text[64];
    std::snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    if (readText(path, text, sizeof text))
      least = std::min(least, quotaOf(text));
    char *slash = std::strrchr(group, '/');
    if (!slash)
      return least;
    *slash = 0;
  }
}

uint32_t countUsableCpus() {
  cpu_set_t mask;
  uint32_t count = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0)
    count = uint32_t(CPU_COUNT(&mask));
  else if (long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0)
    count = uint32_t(online); // more CPUs than the mask has bits
  return std::max(1u, std::min(count, controlGroupQuota()));
}

} // namespace kiln::rt
