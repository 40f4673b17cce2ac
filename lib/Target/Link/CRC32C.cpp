//===- CRC32C.cpp - Checksum of weights -----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/CRC32C.h"
#include "llvm/Support/Endian.h"
#include <array>
#include <cstring>

using namespace llvm;
using namespace kiln;

/// tables[k][b]: the checksum of byte b with k zero bytes behind it.
static constexpr std::array<std::array<uint32_t, 256>, 8> makeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte != 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit != 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte != 256; ++byte)
    for (int k = 1; k != 8; ++k)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

static constexpr auto tables = makeTables();

uint32_t kiln::crc32cByTable(ArrayRef<uint8_t> bytes, uint32_t crc) {
  crc = ~crc;
  for (; bytes.size() >= 8; bytes = bytes.drop_front(8)) {
    uint64_t word = support::endian::read64le(bytes.data()) ^ crc;
    crc = 0;
    for (int k = 0; k != 8; ++k)
      crc ^= tables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (uint8_t byte : bytes)
    crc = (crc >> 8) ^ tables[0][(crc ^ byte) & 0xff];
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32cHardware(ArrayRef<uint8_t> bytes,
                                                                 uint32_t crc) {
  uint64_t state = ~crc;
  for (; bytes.size() >= 8; bytes = bytes.drop_front(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    state = __builtin_ia32_crc32di(state, word);
  }
  for (uint8_t byte : bytes)
    state = __builtin_ia32_crc32qi(state, byte);
  return ~static_cast<uint32_t>(state);
}
#endif

uint32_t kiln::crc32c(ArrayRef<uint8_t> bytes, uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2"))
    return crc32cHardware(bytes, crc);
#endif
  return crc32cByTable(bytes, crc);
}
