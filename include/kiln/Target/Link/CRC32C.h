//===- kiln/Target/Link/CRC32C.h - Checksum of weights ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_CRC32C_H
#define KILN_TARGET_LINK_CRC32C_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace kiln {

/// CRC-32C (Castagnoli), the checksum that kiln_module_weight::crc32c holds.
/// `crc` is the result for the bytes before; uses the processor's instruction
/// where there is one.
uint32_t crc32c(llvm::ArrayRef<uint8_t> bytes, uint32_t crc = 0);

/// The same without the instruction; for processors that lack it, and tests.
uint32_t crc32cByTable(llvm::ArrayRef<uint8_t> bytes, uint32_t crc = 0);

} // namespace kiln

#endif // KILN_TARGET_LINK_CRC32C_H
