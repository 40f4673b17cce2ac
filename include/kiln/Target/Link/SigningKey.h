//===- kiln/Target/Link/SigningKey.h - Signing artefacts ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_SIGNINGKEY_H
#define KILN_TARGET_LINK_SIGNINGKEY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <array>
#include <string>

namespace kiln {

/// An Ed25519 private key. It is wiped from memory at the end, and equal files get
/// equal signatures.
class SigningKey {
public:
  /// From a PEM file, as `openssl genpkey -algorithm ed25519` writes it. Errors say
  /// what is wrong with the file, without its name.
  static llvm::Expected<SigningKey> read(llvm::StringRef path);
  SigningKey(SigningKey &&) = default;
  ~SigningKey();

  /// What has to follow a file of `size` bytes (kiln-c/ArtefactNote.h), of which
  /// `read` gives any part.
  llvm::Expected<std::string>
  sign(uint64_t size,
       llvm::function_ref<llvm::Error(uint64_t, llvm::MutableArrayRef<uint8_t>)> read) const;

private:
  SigningKey() = default;

  std::array<uint8_t, 32> publicKey{};
  std::array<uint8_t, 64> secretKey{};
};

} // namespace kiln

#endif // KILN_TARGET_LINK_SIGNINGKEY_H
