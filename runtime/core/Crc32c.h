//===- Crc32c.h - CRC-32C (Castagnoli) of memory ------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_CRC32C_H
#define KILN_RUNTIME_CORE_CRC32C_H

#include <cstdint>

namespace kiln::rt {

/// The checksum of iSCSI: initial value and result inverted, so that the
/// checksum of "123456789" is 0xe3069283.
class Crc32c {
public:
  enum class Way { Bytes, Instruction, Folding256, Folding512 };

  /// Asks the CPU what it has; that takes longer than a short checksum. The best way
  /// that is there, up to `most`.
  explicit Crc32c(Way most = Way::Folding512);
  Way used() const { return way; }

  /// `previous` continues an earlier checksum.
  uint32_t operator()(const void *data, uint64_t size, uint32_t previous = 0) const;

private:
  using Update = uint32_t (*)(uint32_t crc, const uint8_t *data, uint64_t size);
  Update update;
  Way way;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_CRC32C_H
