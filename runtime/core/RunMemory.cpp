//===- RunMemory.cpp - Memory that a run asks for while it goes -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunMemory.h"

namespace kiln::rt {

void *RunMemory::allocate(uint64_t bytes) {
  if (bytes > kMaxBytes)
    return nullptr;
  auto *header = static_cast<Header *>(allocateAligned(bytes + sizeof(Header)));
  if (!header)
    return nullptr;
  header->previous = nullptr;
  header->next = first;
  if (first)
    first->previous = header;
  first = header;
  return header + 1;
}

void RunMemory::release(void *memory) {
  if (!memory)
    return;
  Header *header = static_cast<Header *>(memory) - 1;
  if (header->next)
    header->next->previous = header->previous;
  if (header->previous)
    header->previous->next = header->next;
  else
    first = header->next;
  std::free(header);
}

void RunMemory::releaseSince(void *mark, void *const *kept, uint32_t count) {
  for (Header *header = first, *next; header != mark; header = next) {
    next = header->next;
    bool keep = false;
    for (uint32_t i = 0; i != count; ++i)
      keep |= kept[i] == header + 1;
    if (!keep)
      release(header + 1);
  }
}

void RunMemory::clear() {
  while (first)
    release(first + 1);
}

} // namespace kiln::rt
