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
#include "llvm/Support/VersionTuple.h"
#include <optional>
#include <string>

namespace kiln {

/// "sm_90a": what nvcc calls a real architecture; or "compute_90": PTX, which the
/// drivers of that and of later devices compile.
struct CudaArchitecture {
  std::string name;
  /// 90
  unsigned number = 0;
  bool isPtx = false;
  /// The first nvcc that knows it, by NVIDIA's release notes.
  llvm::VersionTuple firstNvcc;

  /// Fails with the list of those that are known.
  static llvm::Expected<CudaArchitecture> parse(llvm::StringRef name);
};

/// What ptxas says of a kernel.
struct KernelResources {
  unsigned registers = 0;
  /// Of each thread: its local memory, and what of that is stored and loaded for
  /// want of registers.
  unsigned stackBytes = 0, spillBytes = 0;
  unsigned staticSharedBytes = 0;
};
/// From the text of `ptxas -v` about one kernel; nothing when that is none.
std::optional<KernelResources> parseKernelResources(llvm::StringRef report);

/// What nvcc made of a text.
struct CudaCode {
  /// A cubin, or PTX where that is the architecture.
  std::string image;
  /// Of `ptxas -v`; empty where there is only PTX.
  std::string report;
  /// Only where it was asked for.
  std::string ptx;
};

class CudaToolchain {
public:
  /// `cudaPath`: --cuda-path, or empty for $CUDA_HOME, $PATH, /usr/local/cuda and
  /// the folder where tools/dev/cuda puts NVIDIA's packages.
  explicit CudaToolchain(llvm::StringRef cudaPath);

  /// The nvcc that was found; an error says where it was looked for.
  llvm::Expected<std::string> nvcc() const;
  /// Empty when nvcc does not say.
  llvm::VersionTuple version() const;
  /// Texts that decide what a compilation gives, for keys of caches.
  std::string identity(const CudaArchitecture &architecture) const;
  std::string simulatorIdentity() const;

  /// Compiles a kernel's text. Thread-safe. The error holds what the compiler
  /// said.
  llvm::Expected<CudaCode> compile(llvm::StringRef text, const CudaArchitecture &architecture,
                                   bool keepPtx = false) const;
  /// The instructions of a cubin, by nvdisasm.
  llvm::Expected<std::string> disassemble(llvm::StringRef cubin) const;
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
