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
// With carry-less products of whole vectors, four of them hold what a message of
// their size would have to be for the same checksum, and are moved over their
// own size at each step (Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ", 2009). What they hold at the end goes through the
// instruction above, so that no other reduction is needed.
//
//===----------------------------------------------------------------------===//
#include "Crc32c.h"

#include "Cpu.h"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

/// x^bits modulo the polynomial, reflected, at the place where a reflected product
/// of 64 by 64 bits wants it.
constexpr uint64_t powerOfX(uint64_t bits) {
  uint32_t power = 0x80000000; // 1
  for (; bits; --bits)
    power = stepBit(power);
  return uint64_t(power) << 1;
}

/// Factors that move the two halves of 128 bits over `bytes`.
struct Shift {
  uint64_t low, high;
};
constexpr Shift shiftOver(uint64_t bytes) {
  return {powerOfX(8 * bytes + 32), powerOfX(8 * bytes - 32)};
}

constexpr uint64_t kVectors = 4;

[[gnu::target("avx512f,vpclmulqdq,sse4.2")]] uint32_t
updateFolding512(uint32_t crc, const uint8_t *data, uint64_t size) {
  constexpr uint64_t block = kVectors * sizeof(__m512i);
  static constexpr Shift shift = shiftOver(block);
  if (size < block)
    return updateHardware(crc, data, size);
  const __m512i factors = _mm512_broadcast_i32x4(
      _mm_set_epi64x(static_cast<long long>(shift.high), static_cast<long long>(shift.low)));
  __m512i sums[kVectors];
  for (uint64_t i = 0; i != kVectors; ++i)
    sums[i] = _mm512_loadu_si512(data + i * sizeof(__m512i));
  sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(int(crc))));
  for (data += block, size -= block; size >= block; data += block, size -= block)
    for (uint64_t i = 0; i != kVectors; ++i) {
      constexpr int xorOfThree = 0x96;
      sums[i] =
          _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(sums[i], factors, 0x00),
                                    _mm512_clmulepi64_epi128(sums[i], factors, 0x11),
                                    _mm512_loadu_si512(data + i * sizeof(__m512i)), xorOfThree);
    }
  crc = updateHardware(0, reinterpret_cast<const uint8_t *>(sums), sizeof sums);
  return updateHardware(crc, data, size);
}

[[gnu::target("avx2,vpclmulqdq,sse4.2")]] uint32_t
updateFolding256(uint32_t crc, const uint8_t *data, uint64_t size) {
  constexpr uint64_t block = kVectors * sizeof(__m256i);
  static constexpr Shift shift = shiftOver(block);
  if (size < block)
    return updateHardware(crc, data, size);
  const __m256i factors = _mm256_broadcastsi128_si256(
      _mm_set_epi64x(static_cast<long long>(shift.high), static_cast<long long>(shift.low)));
  __m256i sums[kVectors];
  for (uint64_t i = 0; i != kVectors; ++i)
    sums[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(data) + i);
  sums[0] = _mm256_xor_si256(sums[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128(int(crc))));
  for (data += block, size -= block; size >= block; data += block, size -= block)
    for (uint64_t i = 0; i != kVectors; ++i)
      sums[i] = _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(sums[i], factors, 0x00),
                                                  _mm256_clmulepi64_epi128(sums[i], factors, 0x11)),
                                 _mm256_loadu_si256(reinterpret_cast<const __m256i *>(data) + i));
  crc = updateHardware(0, reinterpret_cast<const uint8_t *>(sums), sizeof sums);
  return updateHardware(crc, data, size);
}

#endif

} // namespace

Crc32c::Crc32c(Way most) {
#if defined(__x86_64__)
  struct {
    Way way;
    const char *features;
    Update update;
  } const ways[] = {{Way::Folding512, "avx512f,vpclmulqdq,sse4_2", updateFolding512},
                    {Way::Folding256, "avx2,vpclmulqdq,sse4_2", updateFolding256},
                    {Way::Instruction, "sse4_2", updateHardware}};
  char missing[16];
  for (const auto &one : ways)
    if (one.way <= most && !findMissingFeature(one.features, missing, sizeof missing)) {
      update = one.update;
      way = one.way;
      return;
    }
#endif
  update = updateBytes;
  way = Way::Bytes;
}

uint32_t Crc32c::operator()(const void *data, uint64_t size, uint32_t previous) const {
  return ~update(~previous, static_cast<const uint8_t *>(data), size);
}

} // namespace kiln::rt
