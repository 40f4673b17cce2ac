//===- Check.h - A node against its operator's schema -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_CHECK_H
#define KILN_LIB_IMPORT_ONNX_CHECK_H

#include "Schema.h"
#include "kiln/Support/Diagnostics.h"

namespace kiln::onnx {

/// Finds the schema of a node, checks the node against it, and gives its outputs
/// the element types that the schema implies.
class NodeChecker {
public:
  NodeChecker(Model &model, DiagnosticEngine &diags) : model(model), diags(diags) {}

  /// Null when there is no such operator, which is reported.
  const SchemaInfo *resolve(const Node &node);

  /// Counts and attributes. True when nothing was wrong.
  bool checkForm(const Node &node, const SchemaInfo &schema);
  /// Operand types, where they are known; sets types of outputs.
  bool checkTypes(const Node &node, const SchemaInfo &schema);
  /// What If, Loop and Scan demand of their subgraphs.
  bool checkSubgraphs(const Node &node);

private:
  bool checkCounts(const Node &node, const SchemaInfo &schema);
  bool checkAttributes(const Node &node, const SchemaInfo &schema);
  Type outputType(const Node &node, const Formal &formal, const llvm::StringMap<Type> &bound);
  template <typename... Args> Diagnostic &report(const Node &node, Diag diag, const Args &...args) {
    return diags.report(diag, args...)
        .atNode(node.label())
        .withOp(node.opType, node.domain, node.opset);
  }

  Model &model;
  DiagnosticEngine &diags;
};

} // namespace kiln::onnx

#endif
