//===- Lower.h - From slim protos to the neutral graph ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_LOWER_H
#define KILN_LIB_IMPORT_ONNX_LOWER_H

#include "Check.h"
#include "Sort.h"
#include "TensorReader.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace kiln::onnx {

using OpsetList = google::protobuf::RepeatedPtrField<ONNX_NAMESPACE::OperatorSetIdProto>;
using OpsetMap = std::map<std::string, int64_t>;
constexpr int64_t badOpset = -1;

/// Names of one graph, or of one instance of a function's body.
struct Scope {
  enum class Definer : uint8_t { Input, Initializer, Node };
  struct Definition {
    Definer by;
    uint32_t node;
  };
  Scope *parent = nullptr; ///< null for the model's graph and for functions
  /// What the graph defines, from the start.
  llvm::DenseMap<llvm::StringRef, Definition> definitions;
  /// What has a value by now.
  llvm::DenseMap<llvm::StringRef, ValueId> values;
  /// Types that value_info and outputs declare.
  llvm::DenseMap<llvm::StringRef, Type> declared;
};

/// One call of a function while its body is inlined.
struct Frame {
  const ONNX_NAMESPACE::FunctionProto *function = nullptr;
  const PayloadSource *source = nullptr;
  OpsetMap opsets;
  llvm::StringMap<Attribute> attributes;
  std::string path; ///< what names inside start with
};

/// Where nodes are lowered to.
struct Place {
  Scope &scope;
  const Frame &frame;
  Graph &graph;
};

class Lowering {
public:
  Lowering(Model &model, const LoadOptions &options, ExternalData &external,
           DiagnosticEngine &diags)
      : model(model), options(options), diags(diags), checker(model, diags),
        tensors(external, options, diags) {}

  /// The whole model; false when something was reported.
  bool lowerModel(const ONNX_NAMESPACE::ModelProto &proto, const PayloadSource &source);

  /// The nodes of a function with its parameters bound to values of the model, for
  /// schema functions. `results` receives one value for each output of `function`.
  bool lowerFunctionBody(const ONNX_NAMESPACE::FunctionProto &function, const PayloadSource &source,
                         llvm::ArrayRef<ValueId> arguments, llvm::ArrayRef<Attribute> attributes,
                         llvm::StringRef path, Graph &graph, std::vector<ValueId> &results);
  /// Names that stand for existing values while schema functions are lowered.
  llvm::StringMap<ValueId> outerValues;

private:
  // Lower.cpp
  void lowerGraph(const ONNX_NAMESPACE::GraphProto &proto, Scope *parent, const Frame &frame,
                  Graph &graph, llvm::ArrayRef<Type> inputTypes);
  bool checkName(llvm::StringRef name, const char *noun, int i, llvm::StringRef graph);
  void lowerInputs(const ONNX_NAMESPACE::GraphProto &proto, Scope &scope, const Frame &frame,
                   Graph &graph, llvm::ArrayRef<Type> inputTypes);
  void lowerInitializers(const ONNX_NAMESPACE::GraphProto &proto, Scope &scope, const Frame &frame,
                         Graph &graph);
  void addInitializer(Scope &scope, const Frame &frame, Graph &graph, llvm::StringRef name,
                      std::optional<Tensor> tensor);
  void lowerOutputs(const ONNX_NAMESPACE::GraphProto &proto, Scope &scope, const Frame &frame,
                    Graph &graph);
  void lowerNodes(const NodeList &nodes, Place place);
  void lowerNode(const ONNX_NAMESPACE::NodeProto &proto, uint32_t index, Place place);
  bool define(Scope &scope, llvm::StringRef name, Scope::Definition definition,
              llvm::StringRef graphName, llvm::function_ref<std::string(Scope::Definition)> text);
  std::optional<ValueId> lookup(Scope &scope, llvm::StringRef name);
  ValueId use(Place place, llvm::StringRef name, const Node &node);
  ValueId addResult(Place place, llvm::StringRef name);
  void computeCaptures(Graph &graph);

  // LowerAttribute.cpp
  std::optional<Attribute> lowerAttribute(const ONNX_NAMESPACE::AttributeProto &proto,
                                          const Node &node, Place place);
  void lowerGraphAttribute(const ONNX_NAMESPACE::GraphProto &proto, Attribute &attribute,
                           const Node &node, Place place);
  /// Nothing when an element type is unknown, which is reported for `what`.
  std::optional<Type> lowerType(const ONNX_NAMESPACE::TypeProto &proto, const std::string &what);
  std::shared_ptr<Graph> cloneGraph(const Graph &graph, llvm::DenseMap<ValueId, ValueId> &renamed);

  // Functions.cpp
  bool collectFunctions(const ONNX_NAMESPACE::ModelProto &proto);
  void findRecursion();
  const ONNX_NAMESPACE::FunctionProto *findFunction(llvm::StringRef domain, llvm::StringRef name,
                                                    llvm::StringRef overload) const;
  void inlineCall(const ONNX_NAMESPACE::FunctionProto &function,
                  const ONNX_NAMESPACE::NodeProto &call, Node &node, Place place);
  void lowerBody(const ONNX_NAMESPACE::FunctionProto &function, Place place,
                 std::vector<ValueId> &results);

  // Opsets.cpp
  /// A domain whose version is reported as wrong gets badOpset.
  void readOpsets(const OpsetList &list, OpsetMap &opsets, const std::string &owner);
  /// 0 when the domain is not imported, badOpset when its nodes are not to be checked.
  int64_t opsetOf(const Node &node, const Frame &frame);

  Model &model;
  const LoadOptions &options;
  DiagnosticEngine &diags;
  NodeChecker checker;
  TensorReader tensors;
  FreeNames freeNames;
  const PayloadSource *modelSource = nullptr;

  llvm::StringMap<const ONNX_NAMESPACE::FunctionProto *> functions; ///< by functionKey()
  llvm::DenseSet<const ONNX_NAMESPACE::FunctionProto *> recursive;
  llvm::DenseMap<const ONNX_NAMESPACE::FunctionProto *, OpsetMap> functionOpsets;
  llvm::StringSet<> reportedDomains; ///< missing or too new, by owner and domain
  uint64_t nodeCount = 0;
  unsigned depth = 0; ///< graphs and calls around the current node
  bool tooManyReported = false, tooDeepReported = false;
};

/// Graphs and function calls may nest so deep; the stack holds a few frames for each.
constexpr unsigned maxLoweringDepth = 128;

} // namespace kiln::onnx

#endif
