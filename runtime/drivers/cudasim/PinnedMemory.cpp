//===- PinnedMemory.cpp - Host memory that devices may reach --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PinnedMemory.h"

#include <map>

namespace kiln::cudasim {
namespace {
std::map<uintptr_t, size_t> &ranges() {
  static std::map<uintptr_t, size_t> all;
  return all;
}
} // namespace

bool isPinned(uintptr_t address, size_t bytes) {
  auto next = ranges().upper_bound(address);
  if (next == ranges().begin())
    return false;
  const auto &[begin, size] = *std::prev(next);
  return address - begin < size && bytes <= size - (address - begin);
}

bool pin(uintptr_t address, size_t bytes) {
  auto next = ranges().upper_bound(address);
  if (next != ranges().end() && next->first - address < bytes)
    return false;
  if (next != ranges().begin()) {
    const auto &[begin, size] = *std::prev(next);
    if (address - begin < size)
      return false;
  }
  ranges()[address] = bytes;
  return true;
}

size_t unpin(uintptr_t address) {
  auto it = ranges().find(address);
  if (it == ranges().end())
    return 0;
  const size_t size = it->second;
  ranges().erase(it);
  return size;
}

} // namespace kiln::cudasim
