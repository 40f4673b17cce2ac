//===- Simulated.cpp - What the simulator has to say ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Simulated.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace kiln::run {

static constexpr char kVariable[] = "KILN_CUDASIM";

void findSimulator() {
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0 || length == sizeof self)
    return;
  std::string path(self, size_t(length));
  path = path.substr(0, path.rfind('/')) + "/../lib/libkiln-cudasim.so";
  if (access(path.c_str(), R_OK) == 0)
    setenv(kVariable, path.c_str(), /*overwrite=*/0);
}

/// A function of the simulator that the runtime has loaded, or null.
template <typename Function> static Function find(const char *name) {
  const char *path = std::getenv(kVariable);
  void *library = dlopen(path ? path : "libkiln-cudasim.so", RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

size_t simulatorFindings() {
  auto count = find<size_t (*)()>("kilnSimFindingCount");
  return count ? count() : 0;
}

std::string simulatorReport() {
  auto report = find<const char *(*)()>("kilnSimReport");
  return report ? report() : "";
}

} // namespace kiln::run
