//===- ContentCache.h - Files found by what they were made from -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of entries, one file each, found by content: the key is a digest of
// the compiler's build and of all that the entry was made from. So an entry is
// right or it is not found, and a compilation gives the same bytes with the
// cache and without.
//
// Any number of processes may share a folder: entries appear complete and never
// change. What cannot be read, is damaged or does not belong to its name counts
// as absent and is written again. Whoever may write the folder may put code into
// artefacts: it is made for its owner alone.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_CONTENTCACHE_H
#define KILN_PIPELINE_CONTENTCACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace kiln {

class ContentCache {
public:
  static constexpr uint64_t defaultLimit = uint64_t(256) << 20;

  /// Nothing is made on disk before an entry is stored. At most `limit` bytes
  /// stay after trim(), those that were used last.
  explicit ContentCache(llvm::StringRef folder, uint64_t limit = defaultLimit);

  /// 64 hexadecimal digits, from this program and the parts, of which the first
  /// is the kind of entry; empty when this program has no build id.
  static std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts);
  /// The same of what does not depend on this program.
  static std::string keyOfContent(llvm::ArrayRef<llvm::StringRef> parts);
  std::optional<std::string> loadBytes(llvm::StringRef key) const;
  void storeBytes(llvm::StringRef key, llvm::StringRef bytes);
  /// Drops what was not used for longest where entries have been stored.
  void trim();
  /// Why entries could not be stored; empty when they could.
  llvm::StringRef problem() const { return reason; }

private:
  std::string shardOf(llvm::StringRef key) const;
  std::string pathOf(llvm::StringRef key) const;
  bool makeFolder(const std::string &path);
  void trimShard(const std::string &shard) const;

  std::string folder;
  uint64_t limit;
  std::string reason;
  std::set<std::string> written; // shards
};

} // namespace kiln

#endif // KILN_PIPELINE_CONTENTCACHE_H
