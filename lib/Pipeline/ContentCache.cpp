//===- ContentCache.cpp - Files found by what they were made from ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/ContentCache.h"
#include "ProgramIdentity.h"
#include "kiln/Target/Link/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>

using namespace kiln;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

/// Entries are spread over as many folders, so that trimming reads few names.
static constexpr uint64_t numShards = 16;
/// A use within this time does not touch the entry again.
static constexpr time_t useGranule = 3600;
/// Part of a shard that is left free after trimming: it is not done each time.
static constexpr uint64_t slack = 4;

ContentCache::ContentCache(StringRef folder, uint64_t limit) : folder(folder.str()), limit(limit) {}

std::string ContentCache::keyOfContent(llvm::ArrayRef<StringRef> parts) {
  llvm::BLAKE3 hash;
  for (StringRef part : parts) {
    hash.update(StringRef("\0", 1));
    hash.update(part);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string ContentCache::keyOf(llvm::ArrayRef<StringRef> parts) {
  StringRef program = programIdentity();
  if (program.empty())
    return "";
  llvm::SmallVector<StringRef> all{program};
  all.append(parts.begin(), parts.end());
  return keyOfContent(all);
}

std::string ContentCache::shardOf(StringRef key) const { return folder + "/" + key.front(); }
std::string ContentCache::pathOf(StringRef key) const {
  return shardOf(key) + "/" + key.drop_front().str();
}

//===----------------------------------------------------------------------===//
// Entries: magic, digest of all that follows, key, bytes
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral magic = "KILNENT1";
static constexpr size_t digestSize = 32;

static std::array<uint8_t, digestSize> digestOf(StringRef bytes) {
  return llvm::BLAKE3::hash<digestSize>(llvm::arrayRefFromStringRef(bytes));
}

std::optional<std::string> ContentCache::loadBytes(StringRef key) const {
  std::string path = pathOf(key);
  // Volatile: read, not mapped, for a mapped file that shrinks is a SIGBUS.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.consume_front(magic) || bytes.size() < digestSize)
    return std::nullopt;
  StringRef digest = bytes.take_front(digestSize), body = bytes.drop_front(digestSize);
  if (digest != llvm::toStringRef(digestOf(body)) || !body.consume_front(key))
    return std::nullopt;
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && status.st_mtime + useGranule < ::time(nullptr))
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return body.str();
}

bool ContentCache::makeFolder(const std::string &path) {
  std::error_code error = fs::create_directories(path, /*IgnoreExisting=*/true, fs::owner_all);
  if (error)
    reason = "cannot make the folder '" + path + "': " + error.message();
  return !error;
}

void ContentCache::storeBytes(StringRef key, StringRef bytes) {
  std::string shard = shardOf(key);
  // The first reason is enough: the others will be the same.
  if (!reason.empty() || !makeFolder(shard))
    return;
  std::string body = (key + bytes).str();
  auto digest = digestOf(body);
  std::string entry = magic.str() + llvm::toStringRef(digest).str() + body;
  if (llvm::Error error = writeFileAtomically(pathOf(key), entry, 0600))
    reason = llvm::toString(std::move(error));
  else
    written.insert(shard);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

void ContentCache::trimShard(const std::string &shard) const {
  struct Entry {
    std::string path;
    uint64_t size;
    llvm::sys::TimePoint<> used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  auto longAgo = std::chrono::system_clock::now() - std::chrono::seconds(useGranule);
  for (fs::directory_iterator it(shard, error, /*follow_symlinks=*/false), end; it != end && !error;
       it.increment(error)) {
    auto status = it->status();
    if (!status || status->type() != fs::file_type::regular_file)
      continue;
    // What a process that was killed left behind.
    if (llvm::sys::path::filename(it->path()).starts_with(".")) {
      if (status->getLastModificationTime() < longAgo)
        fs::remove(it->path());
      continue;
    }
    entries.push_back({it->path(), status->getSize(), status->getLastModificationTime()});
    total += status->getSize();
  }
  uint64_t allowed = limit / numShards;
  if (total <= allowed)
    return;
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  for (const Entry &entry : entries) {
    if (total <= allowed - allowed / slack)
      return;
    if (!fs::remove(entry.path))
      total -= entry.size;
  }
}

void ContentCache::trim() {
  for (const std::string &shard : written)
    trimShard(shard);
  written.clear();
}
