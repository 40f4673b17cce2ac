//===- Load.h - From an ONNX file to a checked graph ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The door of KilnImportONNX, the one library that knows protobuf. No exception
// leaves it: every fault is a diagnostic.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_ONNX_LOAD_H
#define KILN_IMPORT_ONNX_LOAD_H

#include "kiln/Import/ONNX/Graph.h"
#include "kiln/Support/Diagnostics.h"

namespace kiln::onnx {

/// The newest and oldest that Kiln reads.
constexpr int newestOpset = 28, oldestOpset = 7, newestIRVersion = 14;

struct LoadOptions {
  /// Guards against functions that grow exponentially when they are inlined.
  uint64_t maxNodes = 4'000'000;
  /// Models of older operator sets are refused.
  int oldestOpset = onnx::oldestOpset;
  /// Sparse constants are stored densely up to so many bytes.
  uint64_t maxDenseBytes = uint64_t(1) << 30;
};

/// Null when the model cannot be used; `diags` then has at least one error. All
/// faults of nodes, names and tensors are reported, not the first alone.
std::unique_ptr<Model> loadModel(llvm::StringRef path, const LoadOptions &options,
                                 DiagnosticEngine &diags);

/// The same from memory, which `owner` keeps alive as long as the tensors of the
/// model. External data is looked up beside `path`, which need not exist.
std::unique_ptr<Model> loadModelFromMemory(llvm::ArrayRef<uint8_t> bytes,
                                           std::shared_ptr<const void> owner, llvm::StringRef path,
                                           const LoadOptions &options, DiagnosticEngine &diags);

/// One serialised TensorProto, as in ONNX's test data.
std::optional<Tensor> loadTensor(llvm::StringRef path, DiagnosticEngine &diags);

/// The version of the schema that `op` has in opset `opset` of `domain`; 0 when
/// there is none. ("ai.onnx" is "".)
int sinceVersion(llvm::StringRef op, llvm::StringRef domain, int opset);

/// The body of a model's operator for which Kiln has no code of its own.
struct Expansion {
  /// In topological order; they define node.outputs. Values in between are new.
  std::vector<Node> nodes;
};

/// Whether ONNX defines the operator as a function of simpler ones.
bool hasSchemaFunction(const Model &model, const Node &node);

/// Replaces a node by its schema's function body at the opset where the node
/// stands. `inputTypes` (one for each input, None when unknown or absent) decide
/// the body where it depends on types; element types and ranks are enough.
/// Returns false, without a diagnostic, when the schema has no body or needs a
/// type that is not given; `result` is then unchanged. New values are added to
/// the model.
bool expandSchemaFunction(Model &model, const Node &node, llvm::ArrayRef<Type> inputTypes,
                          Expansion &result, DiagnosticEngine &diags);

} // namespace kiln::onnx

#endif
