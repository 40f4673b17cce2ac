//===- RuntimeObject.h - The runtime that goes into every artefact - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_RUNTIMEOBJECT_H
#define KILN_TARGET_RUNTIMEOBJECT_H

#include <cstddef>

namespace kiln {

/// Read-only bytes of the program; not terminated, aligned to 16.
struct EmbeddedBytes {
  const char *data;
  size_t size;
};

/// kilnrt.o, a relocatable ELF object for this machine's architecture. It
/// defines `kiln_model_query` (to be exported) and the compiler's builtins, and
/// wants `kiln_generated_module` (ModuleABI.h) and symbols of the list below.
EmbeddedBytes runtimeObject();

/// What an artefact may need of the C library: lines of `name version library`,
/// e.g. "expf GLIBC_2.27 libm.so.6"; lines that start with '#' are comments.
EmbeddedBytes runtimeLibcSymbols();

} // namespace kiln

#endif // KILN_TARGET_RUNTIMEOBJECT_H
