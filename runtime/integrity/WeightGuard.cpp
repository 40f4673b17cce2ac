//===- WeightGuard.cpp - Checking weights part by part --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "WeightGuard.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace kiln::rt {

kiln_status_t WeightGuard::create(bool useKey, ErrorText &error) {
  keyed = useKey;
  if (keyed)
    key = SipKey::random();
  auto noMemory = [&] { return error.fail(KILN_OUT_OF_MEMORY, "no memory for integrity checks"); };
  if (!firstPart.allocate(size_t(module.num_weights) + 1))
    return noMemory();
  for (uint32_t i = 0; i != module.num_weights; ++i) {
    firstPart[i] = parts;
    parts += (module.weight_table[i].size + kPart - 1) / kPart;
  }
  firstPart[module.num_weights] = parts;
  if (!expected.allocate(parts))
    return noMemory();
  uint64_t start = nanoseconds(), sum = 0;
  for (uint32_t i = 0; i != module.num_weights; ++i) {
    const kiln_module_weight &weight = module.weight_table[i];
    uint32_t crc = 0;
    for (uint64_t part = firstPart[i]; part != firstPart[i + 1]; ++part) {
      uint64_t begin, size;
      rangeOf(part, begin, size);
      const uint8_t *data = module.weights + weight.offset + begin;
      crc = crc32c(data, size, crc);
      expected[part] = keyed ? tag(key, data, size, part) : crc;
    }
    sum += weight.size;
    if (crc != weight.crc32c)
      return error.fail(KILN_CORRUPT, "weight '%s' is damaged: checksum %08x, expected %08x",
                        weight.name, crc, weight.crc32c);
  }
  // Below that, what was measured is mostly the clock.
  constexpr uint64_t measurable = uint64_t(1) << 20;
  uint64_t elapsed = nanoseconds() - start;
  if (sum >= measurable && elapsed)
    speed = double(sum) / double(elapsed);
  return KILN_OK;
}

uint32_t WeightGuard::weightOf(uint64_t part) const {
  return uint32_t(std::upper_bound(firstPart.begin(), firstPart.end(), part) - firstPart.begin()) -
         1;
}

const kiln_module_weight &WeightGuard::rangeOf(uint64_t part, uint64_t &begin,
                                               uint64_t &size) const {
  uint32_t index = weightOf(part);
  const kiln_module_weight &weight = module.weight_table[index];
  begin = (part - firstPart[index]) * kPart;
  size = std::min(kPart, weight.size - begin);
  return weight;
}

uint64_t WeightGuard::offsetOf(uint64_t part) const {
  uint64_t begin, size;
  const kiln_module_weight &weight = rangeOf(part, begin, size);
  return weight.offset + begin;
}

bool WeightGuard::isIntact(uint64_t part, uint64_t &bytes) const {
  uint64_t begin, size;
  const kiln_module_weight &weight = rangeOf(part, begin, size);
  const uint8_t *data = module.weights + weight.offset + begin;
  bytes += size;
  if (keyed)
    return tag(key, data, size, part) == expected[part];
  return crc32c(data, size, begin ? uint32_t(expected[part - 1]) : 0) == expected[part];
}

kiln_status_t WeightGuard::mend(uint32_t index, kiln_reload_fn reload, void *user,
                                ErrorText &error) const {
  const kiln_module_weight &weight = module.weight_table[index];
  if (!reload)
    return error.fail(KILN_DAMAGED, "weight '%s' changed in memory, and there is no way to reload",
                      weight.name);
  constexpr uintptr_t page = 4096;
  auto begin = uintptr_t(module.weights + weight.offset);
  uintptr_t first = begin & ~(page - 1), size = alignUp(begin + weight.size, page) - first;
  void *fresh = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory to reload weight '%s'", weight.name);
  // Neighbours on the same pages stay what they are, whole or not.
  std::memcpy(fresh, reinterpret_cast<void *>(first), size);
  uint8_t *target = static_cast<uint8_t *>(fresh) + (begin - first);
  std::memset(target, 0, weight.size);
  kiln_status_t status = reload(user, weight.offset, weight.size, target);
  if (status != KILN_OK)
    error.fail(KILN_DAMAGED, "weight '%s' changed in memory, and reloading it failed: %s",
               weight.name, kiln_status_name(status));
  else if (crc32c(target, weight.size) != weight.crc32c)
    status = error.fail(KILN_DAMAGED, "weight '%s' changed in memory, and its file is damaged too",
                        weight.name);
  else if (mprotect(fresh, size, PROT_READ) != 0 ||
           mremap(fresh, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                  reinterpret_cast<void *>(first)) == MAP_FAILED)
    status = error.fail(KILN_DAMAGED, "weight '%s' changed in memory, which cannot be replaced",
                        weight.name);
  if (status == KILN_OK)
    return KILN_OK;
  munmap(fresh, size);
  return KILN_DAMAGED;
}

} // namespace kiln::rt
