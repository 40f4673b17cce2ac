//===- Guards.cpp - Finding writes that went astray -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Guards.h"

#include <cstring>

namespace kiln::rt {
namespace {

constexpr uint64_t kUsed = 0x4b494c4e75736564;
constexpr uint64_t kFreed = 0x4b494c4e66726565;
constexpr uint8_t kGuardByte = 0xa5;
constexpr uint8_t kFreshByte = 0xff;
constexpr uint8_t kFreedByte = 0xdd;

/// At the start of the block. The first word is left to free lists.
struct Head {
  uint64_t link;
  uint64_t state;
  /// Asked for; behind them the guard begins. Of a freed one: of the whole block.
  uint64_t bytes;
};

bool isFilled(const uint8_t *from, const uint8_t *to, uint8_t value) {
  for (; from != to; ++from)
    if (*from != value)
      return false;
  return true;
}

} // namespace

void *Guards::dress(void *block, uint64_t size, uint64_t bytes) {
  auto *begin = static_cast<uint8_t *>(block);
  std::memset(begin, kGuardByte, kFront);
  Head head = {0, kUsed ^ uintptr_t(block), bytes};
  std::memcpy(begin, &head, sizeof head);
  std::memset(begin + kFront, kFreshByte, bytes);
  std::memset(begin + kFront + bytes, kGuardByte, size - kFront - bytes);
  return begin + kFront;
}

Guards::Finding Guards::inspect(const void *memory, uint64_t size) {
  const uint8_t *begin = static_cast<const uint8_t *>(memory) - kFront;
  Head head;
  std::memcpy(&head, begin, sizeof head);
  if (head.state == (kFreed ^ uintptr_t(begin)))
    return Finding::Freed;
  if (head.state != (kUsed ^ uintptr_t(begin)))
    return Finding::Overrun;
  if (head.bytes > size - kBytes)
    return Finding::Foreign;
  bool intact = isFilled(begin + sizeof head, begin + kFront, kGuardByte) &&
                isFilled(begin + kFront + head.bytes, begin + size, kGuardByte);
  return intact ? Finding::Intact : Finding::Overrun;
}

void *Guards::strip(void *memory, uint64_t size) {
  uint8_t *begin = static_cast<uint8_t *>(memory) - kFront;
  std::memset(begin, kFreedByte, size);
  Head head = {0, kFreed ^ uintptr_t(begin), size};
  std::memcpy(begin, &head, sizeof head);
  return begin;
}

bool Guards::isUntouched(const void *block, uint64_t size) {
  const auto *begin = static_cast<const uint8_t *>(block);
  Head head;
  std::memcpy(&head, begin, sizeof head);
  // What was cut in another way since is no longer as it was left.
  return head.state != (kFreed ^ uintptr_t(begin)) || head.bytes != size ||
         isFilled(begin + sizeof head, begin + size, kFreedByte);
}

} // namespace kiln::rt
