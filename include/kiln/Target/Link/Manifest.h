//===- kiln/Target/Link/Manifest.h - What an artefact was made of -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A JSON document inside every artefact: all that a build needs to be repeated,
// and why each rule did what it did. docs/manifest.md describes it. The same
// inputs give the same bytes: there are no dates, no paths, no host names.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_MANIFEST_H
#define KILN_TARGET_LINK_MANIFEST_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln {

/// The section that holds the document and a zero byte.
inline constexpr llvm::StringLiteral manifestSection = ".kiln.manifest";

struct Manifest {
  struct Weight {
    std::string name;
    uint64_t bytes = 0;
    uint32_t crc32c = 0;
  };
  struct Rule {
    std::string name, digest;
    bool builtIn = false;
  };
  /// What became of one match of a rule.
  struct Decision {
    std::string rule, pattern;
    /// ONNX nodes, or names of ops where they came from none.
    std::vector<std::string> site;
    std::string verdict;
    /// "measured", "transferred" or "predicted"; empty where none was needed.
    std::string evidence;
    /// Digests of the records that decided.
    std::vector<std::string> records;
    /// Why it did not fire.
    std::string reason;
  };

  /// "0.1.0" and "LLVM 22.1.8".
  std::string kiln, compiler;
  uint16_t abiMajor = 0, abiMinor = 0, moduleMajor = 0, moduleMinor = 0;
  /// File name without folders, and BLAKE3 of its bytes.
  std::string modelFile, modelDigest;
  /// kiln_model_info::digest.
  std::string digest;
  std::string target, cpu, features;
  /// Those that change code, as the command line spells them.
  std::map<std::string, std::string> options;
  std::vector<Weight> weights;
  /// Those that fired or rewrote, by name.
  std::vector<Rule> rules;
  std::vector<Decision> decisions;
};

/// One line.
std::string writeManifest(const Manifest &manifest);

/// Fails, saying what is wrong, on anything but a manifest of major version 1.
llvm::Expected<Manifest> readManifest(llvm::StringRef text);

/// The manifest of an artefact's file, a shared or a relocatable object, whose
/// code is not run. Errors name the file.
llvm::Expected<Manifest> manifestOf(llvm::StringRef path);

} // namespace kiln

#endif // KILN_TARGET_LINK_MANIFEST_H
