//===- CpuFeatures.cpp - Which instruction sets this CPU has --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cpu.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace kiln::rt {
namespace {

#if defined(__x86_64__)

enum Register : uint8_t { EAX, EBX, ECX, EDX };

/// State that the kernel must save for the registers of a feature (XCR0 bits).
enum State : uint32_t { None = 0, Avx = 0x6, Avx512 = 0xe6, Amx = 0x60000 };

struct Feature {
  const char *name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  State state;
};

constexpr Feature kFeatures[] = {
    {"sse2", 1, 0, EDX, 26, None},
    {"pni", 1, 0, ECX, 0, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmulqdq", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Avx},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4_1", 1, 0, ECX, 19, None},
    {"sse4_2", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 26, None},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"rdrand", 1, 0, ECX, 30, None},
    {"lahf_lm", 0x80000001, 0, ECX, 0, None},
    {"abm", 0x80000001, 0, ECX, 5, None},
    {"sse4a", 0x80000001, 0, ECX, 6, None},
    {"xop", 0x80000001, 0, ECX, 11, Avx},
    {"fma4", 0x80000001, 0, ECX, 16, Avx},
    {"tbm", 0x80000001, 0, ECX, 21, None},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
    {"bmi1", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Avx512},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"sha_ni", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512_vbmi2", 7, 0, ECX, 6, Avx512},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, Avx},
    {"avx512_vnni", 7, 0, ECX, 11, Avx512},
    {"avx512_bitalg", 7, 0, ECX, 12, Avx512},
    {"avx512_vpopcntdq", 7, 0, ECX, 14, Avx512},
    {"avx512_vp2intersect", 7, 0, EDX, 8, Avx512},
    {"amx_bf16", 7, 0, EDX, 22, Amx},
    {"avx512_fp16", 7, 0, EDX, 23, Avx512},
    {"amx_tile", 7, 0, EDX, 24, Amx},
    {"amx_int8", 7, 0, EDX, 25, Amx},
    {"avx_vnni", 7, 1, EAX, 4, Avx},
    {"avx512_bf16", 7, 1, EAX, 5, Avx512},
    {"avx_ifma", 7, 1, EAX, 23, Avx},
    {"avx_vnni_int8", 7, 1, EDX, 4, Avx},
    {"avx_ne_convert", 7, 1, EDX, 5, Avx},
};

/// Different leaves and subleaves in kFeatures.
constexpr uint32_t countLeaves() {
  uint32_t count = 0;
  for (const Feature &feature : kFeatures) {
    bool isFirst = true;
    for (const Feature *other = kFeatures; other != &feature; ++other)
      isFirst &= other->leaf != feature.leaf || other->subleaf != feature.subleaf;
    count += isFirst;
  }
  return count;
}

/// The CPU's answers, each asked for once: under a hypervisor an answer takes
/// tens of microseconds.
class CpuInfo {
public:
  CpuInfo() {
    constexpr uint32_t osxsave = 1u << 27;
    const Answer &basic = ask(1, 0);
    if (basic.registers[ECX] & osxsave) {
      uint32_t low, high;
      asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      states = uint64_t(high) << 32 | low;
    }
  }

  bool has(const char *name, size_t length) {
    for (const Feature &feature : kFeatures)
      if (std::strlen(feature.name) == length && std::memcmp(feature.name, name, length) == 0)
        return (ask(feature.leaf, feature.subleaf).registers[feature.reg] >> feature.bit & 1) &&
               (states & feature.state) == feature.state;
    return false;
  }

private:
  struct Answer {
    uint32_t leaf;
    uint32_t subleaf;
    uint32_t registers[4];
  };

  /// All zero for a leaf that the CPU does not have.
  const Answer &ask(uint32_t leaf, uint32_t subleaf) {
    for (uint32_t i = 0; i != numAnswers; ++i)
      if (answers[i].leaf == leaf && answers[i].subleaf == subleaf)
        return answers[i];
    Answer &answer = answers[numAnswers++];
    answer = {leaf, subleaf, {}};
    if (!__get_cpuid_count(leaf, subleaf, &answer.registers[EAX], &answer.registers[EBX],
                           &answer.registers[ECX], &answer.registers[EDX]))
      std::memset(answer.registers, 0, sizeof answer.registers);
    return answer;
  }

  Answer answers[countLeaves()];
  uint32_t numAnswers = 0;
  uint64_t states = 0;
};

#elif defined(__aarch64__)

struct Feature {
  const char *name;
  unsigned long hwcap;
  unsigned long hwcap2;
};

constexpr Feature kFeatures[] = {
    {"fp", 1ul << 0, 0},       {"asimd", 1ul << 1, 0},     {"aes", 1ul << 3, 0},
    {"crc32", 1ul << 7, 0},    {"atomics", 1ul << 8, 0},   {"fphp", 1ul << 9, 0},
    {"asimdhp", 1ul << 10, 0}, {"asimdrdm", 1ul << 12, 0}, {"asimddp", 1ul << 20, 0},
    {"sve", 1ul << 22, 0},     {"asimdfhm", 1ul << 23, 0}, {"sve2", 0, 1ul << 1},
    {"i8mm", 0, 1ul << 13},    {"bf16", 0, 1ul << 14},
};

struct CpuInfo {
  bool has(const char *name, size_t length) {
    for (const Feature &feature : kFeatures)
      if (std::strlen(feature.name) == length && std::memcmp(feature.name, name, length) == 0)
        return (getauxval(AT_HWCAP) & feature.hwcap) == feature.hwcap &&
               (getauxval(AT_HWCAP2) & feature.hwcap2) == feature.hwcap2;
    return false;
  }
};

#else

struct CpuInfo {
  bool has(const char *, size_t) { return false; }
};

#endif

} // namespace

bool findMissingFeature(const char *features, char *missing, size_t size) {
  if (!features || !*features)
    return false;
  CpuInfo cpu;
  while (*features) {
    size_t length = std::strcspn(features, ",");
    if (length && !cpu.has(features, length)) {
      size_t copied = std::min(length, size - 1);
      std::memcpy(missing, features, copied);
      missing[copied] = 0;
      return true;
    }
    features += length + (features[length] == ',');
  }
  return false;
}

} // namespace kiln::rt
