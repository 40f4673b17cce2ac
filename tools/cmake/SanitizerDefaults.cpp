//===- SanitizerDefaults.cpp - AddressSanitizer beside LLVM ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's bump allocator poisons memory in inline code of its headers, which is
// instrumented here; libMLIR, which is not, allocates from the same slabs and
// unpoisons nothing. Without these, the first parametrised attribute is reported
// as a use after poison.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options();

extern "C" __attribute__((visibility("default"), used)) const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}
