//===- Crc32c.cpp - CRC-32C (Castagnoli) of memory ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the instruction of SSE4.2, three lanes at once: it has a latency of
// three cycles and a throughput of one. The lanes are joined by a table that
// moves a checksum over as many zero bytes as a lane has.
//
//===----------------------------------------------------------------------===//
#include "Crc32c.h"

#include "Cpu.h"

#include <array>
#include <cstring>

namespace kiln::rt {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78; // reflected

constexpr uint32_t stepBit(uint32_t crc) { return crc >> 1 ^ (crc & 1 ? kPolynomial : 0); }

constexpr std::array<uint32_t, 256> makeByteTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i != 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit != 8; ++bit)
      crc = stepBit(crc);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kByteTable = makeByteTable();

uint32_t updateBytes(uint32_t crc, const uint8_t *data, uint64_t size) {
  for (; size; --size)
    crc = crc >> 8 ^ kByteTable[(crc ^ *data++) & 0xff];
  return crc;
}

#if defined(__x86_64__)

constexpr uint64_t kLane = 4096;

/// What zero bytes do to a checksum, as a matrix over GF(2): column i is the
/// result for bit i.
struct Matrix {
  uint32_t column[32];
};

constexpr uint32_t apply(const Matrix &matrix, uint32_t value) {
  uint32_t result = 0;
  for (int i = 0; i != 32; ++i)
    if (value >> i & 1)
      result ^= matrix.column[i];
  return result;
}

constexpr Matrix squared(const Matrix &matrix) {
  Matrix result{};
  for (int i = 0; i != 32; ++i)
    result.column[i] = apply(matrix, matrix.column[i]);
  return result;
}

/// Four tables, one a byte of the checksum: moves it over kLane zero bytes.
constexpr std::array<std::array<uint32_t, 256>, 4> makeLaneTable() {
  Matrix matrix{};
  for (int i = 0; i != 32; ++i)
    matrix.column[i] = stepBit(uint32_t(1) << i);
  for (uint64_t bits = 1; bits != kLane * 8; bits *= 2)
    matrix = squared(matrix);
  std::array<std::array<uint32_t, 256>, 4> table{};
  for (uint32_t byte = 0; byte != 4; ++byte)
    for (uint32_t i = 0; i != 256; ++i)
      table[byte][i] = apply(matrix, i << (8 * byte));
  return table;
}
constexpr std::array<std::array<uint32_t, 256>, 4> kLaneTable = makeLaneTable();

uint32_t moveOverLane(uint32_t crc) {
  return kLaneTable[0][crc & 0xff] ^ kLaneTable[1][crc >> 8 & 0xff] ^
         kLaneTable[2][crc >> 16 & 0xff] ^ kLaneTable[3][crc >> 24];
}

uint64_t load64(const uint8_t *data) {
  uint64_t value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

[[gnu::target("sse4.2")]] uint32_t updateHardware(uint32_t start, const uint8_t *data,
                                                  uint64_t size) {
  uint64_t crc = start;
  for (; size >= 3 * kLane; data += 3 * kLane, size -= 3 * kLane) {
    uint64_t second = 0, third = 0;
    for (uint64_t i = 0; i != kLane; i += 8) {
      crc = __builtin_ia32_crc32di(crc, load64(data + i));
      second = __builtin_ia32_crc32di(second, load64(data + kLane + i));
      third = __builtin_ia32_crc32di(third, load64(data + 2 * kLane + i));
    }
    crc = moveOverLane(uint32_t(crc)) ^ second;
    crc = moveOverLane(uint32_t(crc)) ^ third;
  }
  for (; size >= 8; data += 8, size -= 8)
    crc = __builtin_ia32_crc32di(crc, load64(data));
  for (; size; --size)
    crc = __builtin_ia32_crc32qi(uint32_t(crc), *data++);
  return uint32_t(crc);
}

#endif

} // namespace

Crc32c::Crc32c() {
#if defined(__x86_64__)
  char missing[16];
  hasInstruction = !findMissingFeature("sse4_2", missing, sizeof missing);
#endif
}

uint32_t Crc32c::operator()(const void *data, uint64_t size, uint32_t previous) const {
  const auto *bytes = static_cast<const uint8_t *>(data);
#if defined(__x86_64__)
  if (hasInstruction)
    return ~updateHardware(~previous, bytes, size);
#endif
  return ~updateBytes(~previous, bytes, size);
}

} // namespace kiln::rt
