//===- ExternalData.h - Tensors that lie beside the model -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_EXTERNALDATA_H
#define KILN_LIB_IMPORT_ONNX_EXTERNALDATA_H

#include "kiln/Support/Diagnostics.h"
#include "kiln/Support/MappedFile.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln::onnx {

/// Resolves external_data entries. Each data file is mapped once.
class ExternalData {
public:
  ExternalData(llvm::StringRef modelPath, DiagnosticEngine &diags);

  struct Range {
    std::shared_ptr<const MappedFile> file;
    const uint8_t *data = nullptr;
  };
  /// The `size` bytes that `entries` describe, for the tensor that messages call
  /// `what`. No file on failure, which is reported.
  Range find(llvm::ArrayRef<std::pair<std::string, std::string>> entries, uint64_t size,
             llvm::StringRef what);

private:
  std::shared_ptr<const MappedFile> open(llvm::StringRef location, llvm::StringRef what);

  DiagnosticEngine &diags;
  std::string directory; ///< of the model, as given
  std::string modelPath;
  /// Real paths of the directory that the model's path names and of the one that
  /// the file is in when the path is a symlink; computed when first needed.
  std::vector<std::string> roots;
  /// By location. Null after a failure, so that one missing file is one error.
  llvm::StringMap<std::shared_ptr<const MappedFile>> files;
};

} // namespace kiln::onnx

#endif
