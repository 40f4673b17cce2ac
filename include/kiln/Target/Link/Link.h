//===- kiln/Target/Link/Link.h - Objects to a library -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From object files in memory to a shared or a relocatable object in memory.
// lld runs inside the process, needs no compiler, no C library headers and no
// start files, and never touches the disk.
//
// WARNING: lld resets every llvm::cl option of the process to its default.
// Copy command line options into a struct before the first call; a cl::opt
// that is read afterwards silently holds its default.
//
// All functions may be called from any thread; links run one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_LINK_H
#define KILN_TARGET_LINK_LINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// The section that writeArtefact grows, and the hidden symbol at its start.
/// Generated code declares it `external hidden` and dso_local: the section is
/// last in the image, so a PC-relative 32-bit address always reaches it.
inline constexpr llvm::StringLiteral weightsSection = ".kiln.weights";
inline constexpr llvm::StringLiteral weightsSymbol = "kiln_weights";

/// The function that every artefact exports; the runtime object defines it.
inline constexpr llvm::StringLiteral querySymbol = "kiln_model_query";

struct LinkObject {
  llvm::StringRef bytes;
  /// What messages call it, e.g. "runtime" or "model".
  std::string name;
};

struct LinkInputs {
  std::vector<LinkObject> objects;
  /// SONAME of a shared object: what a program that links it records as
  /// NEEDED. It is part of the bytes.
  std::string soname;
  /// The query function under a name of this model's own, see modelSymbolName;
  /// empty: none.
  std::string modelSymbol;
  /// Total bytes of the weights, as the module table has them. They decide the
  /// alignment only: 2 MiB (huge pages) from 1 MiB on, else a page, so that a
  /// small model stays a small file.
  uint64_t weightsSize = 0;
  /// Hexadecimal digits for the GNU build id; empty: none.
  std::string buildId;
};

/// Links an artefact: exports kiln_model_query and the model symbol only, needs
/// libc.so.6 and libm.so.6 (glibc 2.34 or newer) only, has no constructors and
/// no thread-local storage. These promises are checked on the result.
/// The result has a placeholder for weights; writeArtefact fills it.
llvm::Expected<std::string> linkShared(const LinkInputs &inputs);

/// Links one object for `--emit=obj` and static archives: the model symbol is
/// the only global definition, so objects of several models can be linked into
/// one program. Calls into libc and libm stay undefined. writeArtefact grows
/// this result as well; beyond 2 GB of weights the relocations of a user's own
/// link may not reach, a shared object has no such limit.
llvm::Expected<std::string> linkRelocatable(const LinkInputs &inputs);

} // namespace kiln

#endif // KILN_TARGET_LINK_LINK_H
