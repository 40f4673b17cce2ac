//===- ModelImporter.h - State of one import --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_MODELIMPORTER_H
#define KILN_LIB_IMPORT_MODELIMPORTER_H

#include "SymbolicValues.h"
#include "kiln/Import/ImportModel.h"
#include "kiln/Import/ONNX/Load.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln {

/// State of one import, shared by all nodes.
class ModelImporter {
public:
  ModelImporter(onnx::Model &model, const ImportOptions &options, const ImportTable &table,
                mlir::MLIRContext &context, DiagnosticEngine &diags)
      : model(model), options(options), table(table), context(context), b(&context), diags(&diags) {
  }

  mlir::OwningOpRef<mlir::ModuleOp> run();

  onnx::Model &model;
  const ImportOptions &options;
  const ImportTable &table;
  mlir::MLIRContext &context;
  mlir::OpBuilder b;
  /// Another one while something is tried.
  DiagnosticEngine *diags;
  SymbolicValues symbolic;
  llvm::DenseMap<onnx::ValueId, mlir::Value> values;
  /// Values that a reported node should have made.
  llvm::DenseSet<onnx::ValueId> missing;

  /// A graph of which some nodes have been imported.
  struct GraphState {
    const onnx::Graph &graph;
    size_t next = 0;
    /// The values of its outputs, when a node has ended it.
    std::optional<llvm::SmallVector<mlir::Value>> outputs = std::nullopt;
  };
  /// The one that nodes are taken from; null while a schema's function is
  /// expanded: its nodes are no graph's.
  GraphState *current = nullptr;
  /// Nodes so far; some count more than once.
  uint64_t imported = 0;

  void importNode(const onnx::Node &node, unsigned depth);
  void importNodes();
  void importInitializers(const onnx::Graph &graph);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> importSubgraph(const onnx::Graph &graph,
                                                                 mlir::ValueRange inputs);
  mlir::FailureOr<NodeImporter::Rest> importRest(const onnx::Node &node, mlir::ValueRange outputs);
  mlir::ElementsAttr elements(const onnx::Tensor &tensor, const llvm::Twine &what);

private:
  std::optional<mlir::RankedTensorType> inputType(const onnx::ValueInfo &info);
  Expr inputDim(const onnx::ValueInfo &info, size_t axis);
  Expr declareSymbol(llvm::StringRef modelName, llvm::StringRef symbol);
  ImportHandler handlerOf(const onnx::Node &node) const;
  bool isSupported(const onnx::Node &node) const;
  void reportUnsupported(const onnx::Node &node);
  void poison(const onnx::Node &node);
  void setSymbols(mlir::ModuleOp module);
  bool importInputs(mlir::func::FuncOp function);
  void importOutputs(mlir::func::FuncOp function);

  struct Symbol {
    std::string symbol, modelName;
    DimRange range;
  };
  std::vector<Symbol> symbols;
  std::map<std::string, Expr> symbolOf; // by the model's name
  std::set<std::string> usedDims;
};

} // namespace kiln

#endif // KILN_LIB_IMPORT_MODELIMPORTER_H
