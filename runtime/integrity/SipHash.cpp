//===- SipHash.cpp - A keyed hash -----------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SipHash.h"

#include "Cpu.h"

#include <cstddef>
#include <cstring>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kiln::rt {
namespace {

/// Word is a uint64_t, or several side by side.
template <typename Word> struct SipState {
  Word v0, v1, v2, v3;

  [[gnu::always_inline]] static Word rotate(Word value, int bits) {
    return value << bits | value >> (64 - bits);
  }
  [[gnu::always_inline]] void start(const SipKey &key, const Word &zero) {
    v0 = zero + (key.k0 ^ 0x736f6d6570736575);
    v1 = zero + (key.k1 ^ 0x646f72616e646f6d);
    v2 = zero + (key.k0 ^ 0x6c7967656e657261);
    v3 = zero + (key.k1 ^ 0x7465646279746573);
  }
  [[gnu::always_inline]] void round() {
    v0 += v1;
    v2 += v3;
    v1 = rotate(v1, 13) ^ v0;
    v3 = rotate(v3, 16) ^ v2;
    v0 = rotate(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = rotate(v1, 17) ^ v2;
    v3 = rotate(v3, 21) ^ v0;
    v2 = rotate(v2, 32);
  }
  [[gnu::always_inline]] void compress(const Word &word, int rounds) {
    v3 ^= word;
    for (int i = 0; i != rounds; ++i)
      round();
    v0 ^= word;
  }
};

uint64_t loadWord(const uint8_t *data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

uint64_t sipHash(const SipKey &key, const void *data, uint64_t size, int rounds, int finalRounds) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  SipState<uint64_t> state;
  state.start(key, 0);
  uint64_t left = size;
  for (; left >= 8; left -= 8, bytes += 8)
    state.compress(loadWord(bytes), rounds);
  uint64_t last = 0;
  std::memcpy(&last, bytes, left);
  state.compress(last | size << 56, rounds);
  state.v2 ^= 0xff;
  for (int i = 0; i != finalRounds; ++i)
    state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

constexpr uint64_t kLanes = 8;
typedef uint64_t Words __attribute__((vector_size(kLanes * 8)));

/// Over whole groups of words; the results go to `lanes`.
[[gnu::always_inline]] inline void hashInto(const SipKey &key, const uint8_t *data, uint64_t groups,
                                            uint64_t *lanes) {
  SipState<Words> state;
  state.start(key, Words{});
  for (uint64_t i = 0; i != groups; ++i) {
    Words words;
    std::memcpy(&words, data + i * sizeof words, sizeof words);
    state.compress(words, 1);
  }
  state.v2 ^= Words{} + 0xff;
  for (int i = 0; i != 3; ++i)
    state.round();
  Words result = state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
  std::memcpy(lanes, &result, sizeof result);
}

void hashLanesBaseline(const SipKey &key, const uint8_t *data, uint64_t groups, uint64_t *lanes) {
  hashInto(key, data, groups, lanes);
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] void hashLanesAvx2(const SipKey &key, const uint8_t *data, uint64_t groups,
                                           uint64_t *lanes) {
  hashInto(key, data, groups, lanes);
}
[[gnu::target("avx512f")]] void hashLanesAvx512(const SipKey &key, const uint8_t *data,
                                                uint64_t groups, uint64_t *lanes) {
  hashInto(key, data, groups, lanes);
}
#endif

} // namespace

SipKey SipKey::random() {
  SipKey key;
  if (syscall(SYS_getrandom, &key, sizeof key, 0) == long(sizeof key))
    return key;
  // An old kernel: the 16 random bytes that every process gets.
  if (const auto *seed = reinterpret_cast<const uint8_t *>(getauxval(AT_RANDOM)))
    std::memcpy(&key, seed, sizeof key);
  return key;
}

uint64_t sipHash24(const SipKey &key, const void *data, uint64_t size) {
  return sipHash(key, data, size, 2, 4);
}

uint64_t sipHash13(const SipKey &key, const void *data, uint64_t size) {
  return sipHash(key, data, size, 1, 3);
}

SipTag::SipTag(Way most) : hashLanes(hashLanesBaseline), way(Way::Baseline) {
#if defined(__x86_64__)
  char missing[16];
  if (most >= Way::Avx512 && !findMissingFeature("avx512f", missing, sizeof missing)) {
    hashLanes = hashLanesAvx512;
    way = Way::Avx512;
  } else if (most >= Way::Avx2 && !findMissingFeature("avx2", missing, sizeof missing)) {
    hashLanes = hashLanesAvx2;
    way = Way::Avx2;
  }
#else
  (void)most;
#endif
}

uint64_t SipTag::operator()(const SipKey &key, const void *data, uint64_t size,
                            uint64_t tweak) const {
  const auto *bytes = static_cast<const uint8_t *>(data);
  uint64_t groups = size / sizeof(Words), hashed = groups * sizeof(Words);
  struct {
    uint64_t lanes[kLanes];
    uint64_t tweak;
    uint8_t rest[sizeof(Words)];
  } last = {};
  last.tweak = tweak;
  hashLanes(key, bytes, groups, last.lanes);
  std::memcpy(last.rest, bytes + hashed, size - hashed);
  return sipHash13(key, &last, offsetof(decltype(last), rest) + (size - hashed));
}

} // namespace kiln::rt
