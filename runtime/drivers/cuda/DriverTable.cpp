//===- DriverTable.cpp - Finds the CUDA driver's functions ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DriverAPI.h"

#include <dlfcn.h>

namespace kiln::cuda {

const char *loadDriverTable(DriverTable &table, const char *library, bool *isSymbol) {
  if (isSymbol)
    *isSymbol = false;
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return dlerror();
  if (isSymbol)
    *isSymbol = true;
#define KILN_CUDA_FUNCTION(name, suffix, parameters)                                               \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(handle, #name #suffix));               \
  if (!table.name)                                                                                 \
    return #name #suffix;
#include "DriverFunctions.def"
  return nullptr;
}

} // namespace kiln::cuda
