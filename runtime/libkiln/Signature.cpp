//===- Signature.cpp - What a signed artefact must be ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Signature.h"

#include "ReadFile.h"
#include "kiln-c/ArtefactNote.h"
#include "kiln-c/Loader.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <sodium/crypto_sign_ed25519.h>
#include <unistd.h>

// libsodium's, under names of our own: a host may have another libsodium.
extern "C" {
decltype(crypto_sign_ed25519_verify_detached) kilnVerify __asm__("kiln_sodium_verify");
// Of what sodium_init() does, all that matters here: twice the speed.
int kilnCpuFeatures() __asm__("kiln_sodium_cpu_features");
int kilnHashPick() __asm__("kiln_sodium_hash_pick");
decltype(crypto_generichash_blake2b_init) kilnHashInit __asm__("kiln_sodium_hash_init");
decltype(crypto_generichash_blake2b_update) kilnHashUpdate __asm__("kiln_sodium_hash_update");
decltype(crypto_generichash_blake2b_final) kilnHashFinal __asm__("kiln_sodium_hash_final");
}

namespace kiln::rt {
namespace {

constexpr uint64_t kChunk = KILN_SIGNATURE_CHUNK;
constexpr uint64_t kDigest = KILN_SIGNATURE_DIGEST;
constexpr uint64_t kEnd = sizeof(kiln_signature_end);

static_assert(kEnd == 112 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
static_assert(crypto_sign_ed25519_PUBLICKEYBYTES == KILN_SIGNATURE_KEY);

uint64_t chunksOf(uint64_t bytes) { return bytes / kChunk + (bytes % kChunk != 0); }

/// BLAKE2b over parts.
class Hasher {
public:
  Hasher() { kilnHashInit(&state, nullptr, 0, kDigest); }
  void add(const void *data, uint64_t size) {
    kilnHashUpdate(&state, static_cast<const uint8_t *>(data), size);
  }
  bool isEqual(const uint8_t *digest) {
    uint8_t own[kDigest];
    kilnHashFinal(&state, own, sizeof own);
    return std::memcmp(own, digest, sizeof own) == 0;
  }

private:
  crypto_generichash_blake2b_state state;
};

/// Adds the file's bytes [from, to).
kiln_status_t addFile(Hasher &hasher, int fd, uint64_t from, uint64_t to, ErrorText &error) {
  uint8_t buffer[32 << 10];
  while (from != to) {
    uint64_t size = std::min<uint64_t>(sizeof buffer, to - from);
    if (kiln_status_t status = readExactly(fd, buffer, size, from, error))
      return status;
    hasher.add(buffer, size);
    from += size;
  }
  return KILN_OK;
}

} // namespace

kiln_status_t Signature::read(int fd, uint64_t fileSize, const uint8_t *keys, uint32_t numKeys,
                              ErrorText &error) {
  auto unsignedFile = [&] { return error.fail(KILN_UNSIGNED, "it is not signed"); };
  kiln_signature_end end;
  if (fileSize <= kEnd)
    return unsignedFile();
  if (kiln_status_t status = readExactly(fd, &end, kEnd, fileSize - kEnd, error))
    return status;
  if (std::memcmp(end.magic, KILN_SIGNATURE_MAGIC, sizeof end.magic) != 0)
    return unsignedFile();
  uint64_t size = fileSize - kEnd;
  if (end.covered == 0 || end.covered > size ||
      size - end.covered != chunksOf(end.covered) * kDigest)
    return error.fail(KILN_TAMPERED, "its signature is not for a file of this length");
  const uint8_t *trusted = keys, *last = keys + uint64_t(numKeys) * sizeof end.key;
  while (trusted != last && std::memcmp(trusted, end.key, sizeof end.key) != 0)
    trusted += sizeof end.key;
  if (trusted == last)
    return error.fail(KILN_UNTRUSTED,
                      "it is signed with a key that is not trusted: %02x%02x%02x%02x…", end.key[0],
                      end.key[1], end.key[2], end.key[3]);
  uint64_t digestBytes = size - end.covered, fields = offsetof(kiln_signature_end, signature);
  if (!digests.allocate(digestBytes + fields))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for the signature");
  if (kiln_status_t status = readExactly(fd, digests.get(), digestBytes, end.covered, error))
    return status;
  // As it was read above: the file may have changed since.
  std::memcpy(digests.get() + digestBytes, &end, fields);
  if (kilnVerify(end.signature, digests.get(), digestBytes + fields, trusted) != 0)
    return error.fail(KILN_TAMPERED, "its signature is wrong");
  kilnCpuFeatures();
  kilnHashPick();
  covered = end.covered;
  return KILN_OK;
}

kiln_status_t Signature::check(int fd, const uint8_t *memory, uint64_t offset, uint64_t size,
                               ErrorText &error) const {
  if (!isPresent())
    return KILN_OK;
  if (offset > covered || size > covered - offset)
    return error.fail(KILN_TAMPERED, "its signature does not cover all of it");
  for (uint64_t chunk = offset / kChunk; chunk != chunksOf(offset + size); ++chunk) {
    uint64_t begin = chunk * kChunk, end = std::min(begin + kChunk, covered);
    uint64_t first = std::max(begin, offset), last = std::min(end, offset + size);
    Hasher hasher;
    if (kiln_status_t status = addFile(hasher, fd, begin, first, error))
      return status;
    hasher.add(memory + (first - offset), last - first);
    if (kiln_status_t status = addFile(hasher, fd, last, end, error))
      return status;
    if (!hasher.isEqual(digests.get() + chunk * kDigest))
      return error.fail(KILN_TAMPERED, "it is not what was signed: bytes %llu to %llu differ",
                        static_cast<unsigned long long>(begin),
                        static_cast<unsigned long long>(end));
  }
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

namespace {

int valueOf(char digit) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = digit ? std::strchr(digits, digit) : nullptr;
  return at ? int(at - digits) : -1;
}

/// The bytes between the lines of a PEM block; 0 when it is not of that size.
bool readPem(const char *text, const char *label, uint8_t *into, size_t size) {
  char begin[64];
  std::snprintf(begin, sizeof begin, "-----BEGIN %s-----", label);
  const char *at = std::strstr(text, begin);
  if (!at)
    return false;
  uint32_t bits = 0, count = 0;
  size_t used = 0;
  for (at += std::strlen(begin); *at && *at != '-' && *at != '='; ++at) {
    if (*at == '\n' || *at == '\r' || *at == ' ')
      continue;
    int value = valueOf(*at);
    if (value < 0)
      return false;
    bits = bits << 6 | uint32_t(value);
    count += 6;
    if (count < 8)
      continue;
    count -= 8;
    if (used == size)
      return false;
    into[used++] = uint8_t(bits >> count);
  }
  return used == size;
}

kiln_status_t readPublicKey(const char *path, uint8_t *key, ErrorText &error) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error.fail(KILN_IO, "cannot open '%s': %s", path, std::strerror(errno));
  char text[4096];
  int64_t size = readUpTo(fd, text, sizeof text - 1, 0);
  int code = errno;
  close(fd);
  if (size < 0)
    return error.fail(KILN_IO, "cannot read '%s': %s", path, std::strerror(code));
  text[size] = 0;
  // SubjectPublicKeyInfo with the algorithm 1.3.101.112 and no parameters.
  constexpr uint8_t head[] = {0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0};
  uint8_t der[sizeof head + KILN_SIGNATURE_KEY];
  if (!readPem(text, "PUBLIC KEY", der, sizeof der) || std::memcmp(der, head, sizeof head) != 0)
    return error.fail(KILN_INVALID_ARGUMENT, "'%s' is no Ed25519 public key in PEM form", path);
  std::memcpy(key, der + sizeof head, KILN_SIGNATURE_KEY);
  return KILN_OK;
}

} // namespace
} // namespace kiln::rt

kiln_status_t kiln_public_key_read(const char *path, uint8_t key[32], char *reason,
                                   size_t reasonSize) {
  if (!path || !key)
    return KILN_INVALID_ARGUMENT;
  kiln::rt::ErrorText error;
  kiln_status_t status = kiln::rt::readPublicKey(path, key, error);
  error.copyTo(reason, reasonSize);
  return status;
}
