//===- Signature.h - What a signed artefact must be ---------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_LIBKILN_SIGNATURE_H
#define KILN_RUNTIME_LIBKILN_SIGNATURE_H

#include "Support.h"

namespace kiln::rt {

/// The digests that a trusted key has signed. A file can change at any time, so
/// what is compared with them is what was copied from it.
class Signature {
public:
  /// Reads what stands behind the ELF file. KILN_UNSIGNED, KILN_UNTRUSTED,
  /// KILN_TAMPERED, KILN_IO, KILN_OUT_OF_MEMORY.
  kiln_status_t read(int fd, uint64_t fileSize, const uint8_t *keys, uint32_t numKeys,
                     ErrorText &error);

  bool isPresent() const { return covered != 0; }
  /// Bytes of the file without the signature.
  uint64_t signedBytes() const { return covered; }

  /// Compares `memory`, a copy of the file's bytes [offset, offset + size). What
  /// its first and last chunk have beside it is read from the file. Always
  /// KILN_OK without a signature.
  kiln_status_t check(int fd, const uint8_t *memory, uint64_t offset, uint64_t size,
                      ErrorText &error) const;

private:
  uint64_t covered = 0;
  Array<uint8_t> digests;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_LIBKILN_SIGNATURE_H
