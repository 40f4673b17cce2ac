//===- SigningKey.cpp - Signing artefacts ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/SigningKey.h"
#include "kiln-c/ArtefactNote.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstddef>
#include <cstring>
#include <sodium.h>

using namespace llvm;
using namespace kiln;

static_assert(crypto_sign_ed25519_SECRETKEYBYTES == 64 &&
              crypto_sign_ed25519_SEEDBYTES == KILN_SIGNATURE_KEY);

/// PKCS #8, version 0, with the algorithm 1.3.101.112 and no parameters.
static constexpr uint8_t derHead[] = {0x30, 0x2e, 2,    1,    0, 0x30, 5, 6,
                                      3,    0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20};

Expected<SigningKey> SigningKey::read(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return errorCodeToError(file.getError());
  StringRef text = (*file)->getBuffer();
  if (text.contains("BEGIN ENCRYPTED PRIVATE KEY"))
    return createStringError("the key is encrypted; openssl pkey -in KEY writes it in the clear");
  auto [before, block] = text.split("-----BEGIN PRIVATE KEY-----");
  std::string digits;
  for (char c : block.split("-----END").first)
    if (!isspace(static_cast<unsigned char>(c)))
      digits += c;
  std::vector<char> der;
  bool decoded = !errorToBool(decodeBase64(digits, der));
  SigningKey key;
  bool isKey = decoded && der.size() == sizeof(derHead) + crypto_sign_ed25519_SEEDBYTES &&
               std::memcmp(der.data(), derHead, sizeof(derHead)) == 0;
  if (isKey)
    crypto_sign_ed25519_seed_keypair(key.publicKey.data(), key.secretKey.data(),
                                     reinterpret_cast<const uint8_t *>(der.data()) +
                                         sizeof(derHead));
  sodium_memzero(digits.data(), digits.size());
  sodium_memzero(der.data(), der.size());
  if (!isKey)
    return createStringError("it is no Ed25519 private key in PEM form; openssl genpkey "
                             "-algorithm ed25519 makes one");
  return std::move(key);
}

SigningKey::~SigningKey() { sodium_memzero(secretKey.data(), secretKey.size()); }

Expected<std::string>
SigningKey::sign(uint64_t size,
                 function_ref<Error(uint64_t, MutableArrayRef<uint8_t>)> read) const {
  std::string text;
  std::vector<uint8_t> chunk;
  for (uint64_t at = 0; at != size; at += chunk.size()) {
    chunk.resize(std::min<uint64_t>(KILN_SIGNATURE_CHUNK, size - at));
    if (Error error = read(at, chunk))
      return std::move(error);
    uint8_t digest[KILN_SIGNATURE_DIGEST];
    crypto_generichash_blake2b(digest, sizeof(digest), chunk.data(), chunk.size(), nullptr, 0);
    text.append(reinterpret_cast<const char *>(digest), sizeof(digest));
  }
  kiln_signature_end end = {};
  end.covered = size;
  std::memcpy(end.magic, KILN_SIGNATURE_MAGIC, sizeof(end.magic));
  std::memcpy(end.key, publicKey.data(), sizeof(end.key));
  text.append(reinterpret_cast<const char *>(&end), offsetof(kiln_signature_end, signature));
  crypto_sign_ed25519_detached(end.signature, nullptr,
                               reinterpret_cast<const uint8_t *>(text.data()), text.size(),
                               secretKey.data());
  text.append(reinterpret_cast<const char *>(end.signature), sizeof(end.signature));
  return text;
}
