//===- Toolchain.h - Compilers of emitted kernels ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a kernel becomes a cubin by nvcc, one for each architecture, or a
// shared object for the simulator by clang. Programs are found when they are
// needed; a text is compiled in a temporary folder that is gone afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_TOOLCHAIN_H
#define KILN_TARGET_CUDA_TOOLCHAIN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// "sm_90a": what nvcc calls a real architecture.
struct CudaArchitecture {
  std::string name;
  /// 90
  unsigned number = 0;

  /// Fails with the list of those that are known.
  static llvm::Expected<CudaArchitecture> parse(llvm::StringRef name);
  static llvm::ArrayRef<llvm::StringLiteral> known();
};

class CudaToolchain {
public:
  /// `cudaPath`: --cuda-path, or empty for $CUDA_HOME, $PATH, /usr/local/cuda and
  /// the folder where tools/dev/cuda puts NVIDIA's packages.
  explicit CudaToolchain(llvm::StringRef cudaPath);

  /// The nvcc that was found; an error says where it was looked for.
  llvm::Expected<std::string> nvcc() const;
  /// Texts that decide what a compilation gives, for keys of caches.
  std::string identity(const CudaArchitecture &architecture) const;
  std::string simulatorIdentity() const;

  /// The cubin of a kernel's text. Thread-safe. The error holds what the compiler
  /// said.
  llvm::Expected<std::string> compile(llvm::StringRef text,
                                      const CudaArchitecture &architecture) const;
  /// A shared object for the simulator, with all checks, of the text's kernel.
  llvm::Expected<std::string> compileForSimulator(llvm::StringRef text,
                                                  llvm::StringRef kernel) const;

private:
  std::string findProgram(llvm::StringRef name) const;
  std::string headers() const;

  std::string cudaPath;
  std::string nvccPath, nvccVersion, headerDigest;
};

} // namespace kiln

#endif // KILN_TARGET_CUDA_TOOLCHAIN_H
