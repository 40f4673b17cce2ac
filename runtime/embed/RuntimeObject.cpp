//===- RuntimeObject.cpp - The runtime's bytes, inside kilnc --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Target/RuntimeObject.h"

// The assembler includes the files; the compiler would take seconds to read
// them as arrays.
asm(".section .rodata.kiln_runtime,\"a\",@progbits\n"
    ".balign 16\n"
    "kiln_runtime_object_begin:\n"
    ".incbin \"" KILN_OBJECT_FILE "\"\n"
    "kiln_runtime_object_end:\n"
    ".byte 0\n"
    "kiln_runtime_symbols_begin:\n"
    ".incbin \"" KILN_SYMBOL_FILE "\"\n"
    "kiln_runtime_symbols_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char kiln_runtime_object_begin[];
extern const char kiln_runtime_object_end[];
extern const char kiln_runtime_symbols_begin[];
extern const char kiln_runtime_symbols_end[];
}

kiln::EmbeddedBytes kiln::runtimeObject() {
  return {kiln_runtime_object_begin, size_t(kiln_runtime_object_end - kiln_runtime_object_begin)};
}

kiln::EmbeddedBytes kiln::runtimeLibcSymbols() {
  return {kiln_runtime_symbols_begin,
          size_t(kiln_runtime_symbols_end - kiln_runtime_symbols_begin)};
}
