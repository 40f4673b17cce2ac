//===- Sort.h - Topological order of a graph's nodes ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_SORT_H
#define KILN_LIB_IMPORT_ONNX_SORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <onnx/onnx_pb.h>
#include <vector>

namespace kiln::onnx {

using NodeList = google::protobuf::RepeatedPtrField<ONNX_NAMESPACE::NodeProto>;

/// Names that a graph, or one inside it, uses and does not define. Remembered, so
/// that asking for every level of a nest costs one visit.
class FreeNames {
public:
  const std::vector<llvm::StringRef> &of(const ONNX_NAMESPACE::GraphProto &graph);
  /// Calls `use` for each name that a node reads, also inside its subgraphs.
  void forEachUse(const ONNX_NAMESPACE::NodeProto &node,
                  llvm::function_ref<void(llvm::StringRef)> use);

private:
  llvm::DenseMap<const ONNX_NAMESPACE::GraphProto *, std::vector<llvm::StringRef>> known;
};

/// Indices of `nodes`, definitions before uses; the order of the file where that
/// is one. `definedBy` maps a name to the node that defines it. Each cycle found
/// is handed over as its nodes, in order of use.
std::vector<uint32_t> sortNodes(const NodeList &nodes,
                                const llvm::DenseMap<llvm::StringRef, uint32_t> &definedBy,
                                FreeNames &freeNames,
                                llvm::function_ref<void(llvm::ArrayRef<uint32_t>)> onCycle);

} // namespace kiln::onnx

#endif
