//===- kiln/Target/Link/ModelHeader.h - Names of a model ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_LINK_MODELHEADER_H
#define KILN_TARGET_LINK_MODELHEADER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

struct ModelHeaderDim {
  /// Elements when static, else -1.
  int64_t size = -1;
  /// What a person reads: "3", "batch", "2*seq".
  std::string text;
};

struct ModelHeaderTensor {
  /// As in the ONNX file.
  std::string name;
  /// C type of an element: "float", "int64_t", "uint16_t" for the half types.
  std::string cType;
  /// What a person reads: "float16".
  std::string dtype;
  std::vector<ModelHeaderDim> dims;
};

struct ModelHeaderInfo {
  /// Becomes the prefix of all names. Use the stem of the output file: exporters
  /// call every graph "main_graph".
  std::string name;
  /// Hexadecimal; the first 8 digits are used.
  std::string digest;
  std::string producer;
  std::vector<ModelHeaderTensor> inputs;
  std::vector<ModelHeaderTensor> outputs;
};

/// A C identifier (not empty, no leading digit or underscore) of any text.
std::string sanitizeIdentifier(llvm::StringRef text);

/// `kiln_m_<name>_<digest8>`: the query function of one model, for programs that
/// link artefacts directly. The digest covers model, options and tool.
std::string modelSymbolName(llvm::StringRef name, llvm::StringRef digest);

/// A C11 and C++ header that declares the query function and names inputs,
/// outputs and their static dims. All names exist with the digest in them, and
/// without it unless a header of another model of the same name came first.
std::string writeModelHeader(const ModelHeaderInfo &info);

} // namespace kiln

#endif // KILN_TARGET_LINK_MODELHEADER_H
