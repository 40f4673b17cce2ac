//===- KernelCache.h - Objects of kernels that were compiled ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_KERNELCACHE_H
#define KILN_PIPELINE_KERNELCACHE_H

#include "kiln/Pipeline/ContentCache.h"
#include "kiln/Target/CPU/KernelCompiler.h"

namespace kiln {

class KernelCache : public ContentCache {
public:
  using ContentCache::ContentCache;

  /// KernelCompiler::compile, as far as the cache does not have the results.
  /// Kernels whose text is asked for are always compiled.
  mlir::FailureOr<std::vector<CompiledKernel>> compile(KernelCompiler &compiler,
                                                       llvm::ArrayRef<plan::KernelOp> kernels,
                                                       const KernelOptions &options);
  /// Of the last compile().
  size_t hits() const { return numHits; }

  //===-- Steps -----------------------------------------------------------===//

  /// Empty when the kernel's text does not say all that it depends on, or when
  /// this program has no build id.
  static std::string keyOf(plan::KernelOp kernel, const CPUTarget &target, unsigned optLevel);
  std::optional<CompiledKernel> load(llvm::StringRef key) const;
  void store(llvm::StringRef key, const CompiledKernel &kernel);

private:
  size_t numHits = 0;
};

} // namespace kiln

#endif // KILN_PIPELINE_KERNELCACHE_H
