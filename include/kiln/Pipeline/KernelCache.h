//===- KernelCache.h - Objects of kernels that were compiled ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of compiled kernels, one file each, found by content: the key is a
// digest of the compiler's build, the machine, the options and the kernel's
// text. So an entry is right or it is not found, and a compilation gives the
// same bytes with the cache and without.
//
// Any number of processes may share a folder: entries appear complete and never
// change. What cannot be read, is damaged or does not belong to its name counts
// as absent and is written again. Whoever may write the folder may put code into
// artefacts: it is made for its owner alone.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_KERNELCACHE_H
#define KILN_PIPELINE_KERNELCACHE_H

#include "kiln/Target/CPU/KernelCompiler.h"
#include <optional>
#include <set>

namespace kiln {

class KernelCache {
public:
  static constexpr uint64_t defaultLimit = uint64_t(256) << 20;

  /// Nothing is made on disk before an entry is stored. At most `limit` bytes
  /// stay after trim(), those that were used last.
  explicit KernelCache(llvm::StringRef folder, uint64_t limit = defaultLimit);

  /// KernelCompiler::compile, as far as the cache does not have the results.
  /// Kernels whose text is asked for are always compiled.
  mlir::FailureOr<std::vector<CompiledKernel>> compile(KernelCompiler &compiler,
                                                       llvm::ArrayRef<plan::KernelOp> kernels,
                                                       const KernelOptions &options);
  /// Of the last compile().
  size_t hits() const { return numHits; }
  /// Why entries could not be stored; empty when they could.
  llvm::StringRef problem() const { return reason; }

  //===-- Steps -----------------------------------------------------------===//

  /// 64 hexadecimal digits; empty when the kernel's text does not say all that
  /// it depends on, or when this program has no build id.
  static std::string keyOf(plan::KernelOp kernel, const CPUTarget &target, unsigned optLevel);
  std::optional<CompiledKernel> load(llvm::StringRef key) const;
  void store(llvm::StringRef key, const CompiledKernel &kernel);
  /// Drops what was not used for longest where entries have been stored.
  void trim();

private:
  std::string shardOf(llvm::StringRef key) const;
  std::string pathOf(llvm::StringRef key) const;
  bool makeFolder(const std::string &path);
  void trimShard(const std::string &shard) const;

  std::string folder;
  uint64_t limit;
  size_t numHits = 0;
  std::string reason;
  std::set<std::string> written; // shards
};

} // namespace kiln

#endif // KILN_PIPELINE_KERNELCACHE_H
