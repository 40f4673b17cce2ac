//===- TensorReader.h - From TensorProto to onnx::Tensor --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_TENSORREADER_H
#define KILN_LIB_IMPORT_ONNX_TENSORREADER_H

#include "ExternalData.h"
#include "WireScan.h"
#include "kiln/Import/ONNX/Load.h"
#include <onnx/onnx_pb.h>

namespace kiln::onnx {

/// The bytes that a slim message came from, and where its payloads are in them.
struct PayloadSource {
  llvm::ArrayRef<uint8_t> bytes;
  std::shared_ptr<const void> owner;
  std::vector<Payload> payloads;
};

/// Checks tensors of slim messages and gives them their data.
class TensorReader {
public:
  TensorReader(ExternalData &external, const LoadOptions &options, DiagnosticEngine &diags)
      : external(external), options(options), diags(diags) {}

  /// `what` is the tensor's name in messages, `node` the label of the node that
  /// holds it or "". Nothing on a fault, which is reported.
  std::optional<Tensor> read(const ONNX_NAMESPACE::TensorProto &proto, const PayloadSource &source,
                             llvm::StringRef what, llvm::StringRef node);
  /// Densely: Kiln has no sparse constants.
  std::optional<Tensor> readSparse(const ONNX_NAMESPACE::SparseTensorProto &proto,
                                   const PayloadSource &source, llvm::StringRef what,
                                   llvm::StringRef node);

private:
  std::optional<uint64_t> checkDims(llvm::ArrayRef<int64_t> dims, ElemType type);
  bool fill(Tensor &tensor, uint64_t elements, const Payload &payload, const PayloadSource &source);
  bool decode(Tensor &tensor, uint64_t elements, const Payload &payload,
              const PayloadSource &source);
  template <typename... Args> std::nullopt_t fail(Diag diag, const Args &...args) {
    diags.report(diag, what, args...).atNode(node);
    return std::nullopt;
  }

  ExternalData &external;
  const LoadOptions &options;
  DiagnosticEngine &diags;
  std::string what, node;
};

} // namespace kiln::onnx

#endif
