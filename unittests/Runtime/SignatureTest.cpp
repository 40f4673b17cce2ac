//===- SignatureTest.cpp - Opening only what a trusted key signed ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LoaderSupport.h"
#include "kiln-c/ArtefactNote.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace kiln::test;

namespace {

struct KeyPair {
  std::array<uint8_t, 32> open;
  std::array<uint8_t, 64> secret;

  explicit KeyPair(uint8_t seed) {
    std::array<uint8_t, 32> bytes;
    bytes.fill(seed);
    crypto_sign_ed25519_seed_keypair(open.data(), secret.data(), bytes.data());
  }
};

/// As ArtefactNote.h has it, written a second time.
std::string sign(const std::string &file, const KeyPair &key) {
  std::string list;
  for (size_t at = 0; at < file.size(); at += KILN_SIGNATURE_CHUNK) {
    std::string chunk = file.substr(at, KILN_SIGNATURE_CHUNK);
    uint8_t digest[32];
    crypto_generichash_blake2b(digest, 32, reinterpret_cast<const uint8_t *>(chunk.data()),
                               chunk.size(), nullptr, 0);
    list.append(reinterpret_cast<const char *>(digest), 32);
  }
  uint64_t size = file.size();
  list.append(reinterpret_cast<const char *>(&size), 8);
  list += "KilnSig1";
  list.append(reinterpret_cast<const char *>(key.open.data()), 32);
  uint8_t signature[64];
  crypto_sign_ed25519_detached(signature, nullptr, reinterpret_cast<const uint8_t *>(list.data()),
                               list.size(), key.secret.data());
  return file + list + std::string(reinterpret_cast<const char *>(signature), 64);
}

struct Opened {
  kiln_artefact *artefact = nullptr;
  kiln_status_t status;
  std::string reason;

  Opened(const std::string &path, const std::vector<KeyPair> &trusted, uint32_t flags = 0) {
    std::vector<uint8_t> keys;
    for (const KeyPair &key : trusted)
      keys.insert(keys.end(), key.open.begin(), key.open.end());
    char text[512] = "";
    kiln_open_options options = {};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.error = text;
    options.error_size = sizeof text;
    options.trusted_keys = keys.data();
    options.num_trusted_keys = uint32_t(trusted.size());
    status = kiln_open(path.c_str(), &options, &artefact);
    reason = text;
  }
  ~Opened() { EXPECT_EQ(kiln_close(artefact), KILN_OK); }
};

class Signed : public testing::Test {
protected:
  KeyPair ours{1}, theirs{2};
  /// Of more than one chunk: weights begin at 2 MiB.
  std::string plain = readBytes(artefactPath("model"));
  std::string bytes = sign(plain, ours);
};

} // namespace

TEST_F(Signed, IsOpenedAndRuns) {
  ASSERT_GT(plain.size(), KILN_SIGNATURE_CHUNK);
  Scratch file(bytes);
  for (uint32_t flags : {0u, uint32_t(KILN_OPEN_TRUST_WEIGHTS)}) {
    Opened one(file.path, {theirs, ours}, flags);
    ASSERT_EQ(one.status, KILN_OK) << one.reason;
    expectRuns(kiln_artefact_api(one.artefact));
  }
  // Also where nobody asks for a signature, and where weights lie among the code.
  Opened unasked(file.path, {});
  EXPECT_EQ(unasked.status, KILN_OK) << unasked.reason;
  Scratch small(sign(readBytes(artefactPath("plain")), ours));
  Opened other(small.path, {ours});
  ASSERT_EQ(other.status, KILN_OK) << other.reason;
  expectRuns(kiln_artefact_api(other.artefact));
}

TEST_F(Signed, RefusesWhatIsNotSignedByATrustedKey) {
  Scratch file(plain);
  EXPECT_EQ(Opened(file.path, {ours}).status, KILN_UNSIGNED);
  file.write(bytes);
  Opened foreign(file.path, {theirs});
  EXPECT_EQ(foreign.status, KILN_UNTRUSTED);
  EXPECT_NE(foreign.reason.find("a key that is not trusted"), std::string::npos) << foreign.reason;
  // The name of a trusted key, over what another has signed.
  std::string forged = sign(plain, theirs);
  std::memcpy(&forged[forged.size() - 96], ours.open.data(), 32);
  file.write(forged);
  EXPECT_EQ(Opened(file.path, {ours}).status, KILN_TAMPERED);
  // A signature of another file of the same length.
  std::string other = readBytes(artefactPath("second"));
  other.resize(plain.size());
  file.write(other + bytes.substr(plain.size()));
  EXPECT_EQ(Opened(file.path, {ours}).status, KILN_TAMPERED);
}

TEST_F(Signed, RefusesEveryChange) {
  Scratch file("");
  // Headers, code, the gap before the weights, weights, section headers, digests,
  // length, key, signature. The magic number alone decides whether there is one.
  size_t end = bytes.size(), weights = size_t(2) << 20;
  for (size_t at : {size_t(5), size_t(24), size_t(17000), weights - 100, weights + 3, weights + 130,
                    plain.size() - 1, plain.size() + 1, plain.size() + 40, end - 112, end - 106,
                    end - 90, end - 60, end - 1}) {
    std::string changed = bytes;
    changed[at] ^= 1;
    file.write(changed);
    Opened one(file.path, {ours});
    EXPECT_TRUE(one.status == KILN_TAMPERED || (at == end - 90 && one.status == KILN_UNTRUSTED) ||
                (at == 5 && one.status == KILN_INVALID_ARTEFACT))
        << at << ": " << kiln_status_name(one.status) << ", " << one.reason;
  }
  std::string magic = bytes;
  magic[end - 100] ^= 1;
  file.write(magic);
  EXPECT_EQ(Opened(file.path, {ours}).status, KILN_UNSIGNED);
}

TEST_F(Signed, RefusesPartsAndLengthsThatAreAbsurd) {
  Scratch file("");
  for (size_t size : {size_t(0), size_t(1), size_t(112), size_t(5000), plain.size(),
                      bytes.size() - 1, bytes.size() - 112}) {
    file.write(bytes.substr(0, size));
    EXPECT_EQ(Opened(file.path, {ours}).status, KILN_UNSIGNED) << size;
  }
  file.write(bytes.substr(bytes.size() - 113));
  EXPECT_EQ(Opened(file.path, {ours}).status, KILN_TAMPERED);
  for (uint64_t covered : {uint64_t(0), uint64_t(1), UINT64_MAX, uint64_t(bytes.size())}) {
    std::string changed = bytes;
    std::memcpy(&changed[bytes.size() - 112], &covered, 8);
    file.write(changed);
    EXPECT_EQ(Opened(file.path, {ours}).status, KILN_TAMPERED) << covered;
  }
  file.write(bytes + "more");
  EXPECT_EQ(Opened(file.path, {ours}).status, KILN_UNSIGNED);
  kiln_open_options options = {};
  options.struct_size = sizeof options;
  options.num_trusted_keys = 1;
  kiln_artefact *artefact = nullptr;
  EXPECT_EQ(kiln_open(file.path.c_str(), &options, &artefact), KILN_INVALID_ARGUMENT);
}

TEST_F(Signed, LaterWritesDoNotReachIt) {
  Scratch file(bytes);
  Opened one(file.path, {ours});
  ASSERT_EQ(one.status, KILN_OK) << one.reason;
  // Weights too, though nobody asked for a copy of them.
  ASSERT_EQ(truncate(file.path.c_str(), 0), 0);
  expectRuns(kiln_artefact_api(one.artefact));
}

TEST_F(Signed, WhatIsReloadedIsCompared) {
  Scratch file(bytes);
  Opened one(file.path, {ours});
  ASSERT_EQ(one.status, KILN_OK) << one.reason;
  char weight[64];
  EXPECT_EQ(kiln_artefact_reload(one.artefact, 32, sizeof weight, weight), KILN_OK);
  EXPECT_EQ(std::memcmp(weight, &bytes[(size_t(2) << 20) + 32], sizeof weight), 0);
  int fd = open(file.path.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(pwrite(fd, "?", 1, (2 << 20) + 40), 1);
  fsync(fd);
  close(fd);
  EXPECT_EQ(kiln_artefact_reload(one.artefact, 32, sizeof weight, weight), KILN_TAMPERED);
  // Beside what is asked for, but under the same digest.
  EXPECT_EQ(kiln_artefact_reload(one.artefact, 64, 8, weight), KILN_TAMPERED);
}

TEST(PublicKey, IsReadFromPem) {
  // Of RFC 8410, section 10.1.
  const std::string text = "-----BEGIN PUBLIC KEY-----\n"
                           "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                           "-----END PUBLIC KEY-----\n";
  Scratch file(text);
  uint8_t key[32], first[] = {0x19, 0xbf, 0x44, 0x09, 0x69, 0x84, 0xcd, 0xfe};
  char reason[256] = "";
  ASSERT_EQ(kiln_public_key_read(file.path.c_str(), key, reason, sizeof reason), KILN_OK) << reason;
  EXPECT_EQ(std::memcmp(key, first, sizeof first), 0);
  EXPECT_EQ(key[31], 0xe1);
  for (std::string bad : {std::string(), std::string("hello"), text.substr(0, 60),
                          std::string("-----BEGIN PUBLIC KEY-----\n!!!!\n"), std::string(5000, 'A'),
                          std::string("\0\0", 2),
                          // Of X25519: the right length, another algorithm.
                          "-----BEGIN PUBLIC KEY-----\n"
                          "MCowBQYDK2VuAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n" +
                              text.substr(text.size() - 25)}) {
    file.write(bad);
    EXPECT_EQ(kiln_public_key_read(file.path.c_str(), key, reason, sizeof reason),
              KILN_INVALID_ARGUMENT)
        << bad;
    EXPECT_NE(std::string(reason).find("no Ed25519 public key"), std::string::npos) << reason;
  }
  EXPECT_EQ(kiln_public_key_read("/nonexistent.pem", key, reason, sizeof reason), KILN_IO);
  EXPECT_EQ(kiln_public_key_read("/tmp", key, nullptr, 0), KILN_IO);
  EXPECT_EQ(kiln_public_key_read(nullptr, key, nullptr, 0), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_public_key_read(file.path.c_str(), nullptr, nullptr, 0), KILN_INVALID_ARGUMENT);
}
