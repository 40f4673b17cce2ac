//===- Printing.cpp - Stages as text --------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Printing.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace kiln;

static void printGraph(const onnx::Model &model, const onnx::Graph &graph, raw_ostream &os,
                       unsigned indent) {
  auto nameOf = [&](onnx::ValueId id) {
    return id == onnx::noValue ? std::string("''") : model.values[id].name;
  };
  auto list = [&](ArrayRef<onnx::ValueId> ids) {
    llvm::interleaveComma(ids, os, [&](onnx::ValueId id) { os << nameOf(id); });
  };
  for (onnx::ValueId id : graph.inputs)
    os.indent(indent) << "input " << nameOf(id) << ": " << model.typeOf(id).fullStr() << '\n';
  for (const onnx::Initializer &initializer : graph.initializers)
    os.indent(indent) << "initializer " << nameOf(initializer.value) << ": "
                      << initializer.tensor.type().fullStr() << '\n';
  for (const onnx::Node &node : graph.nodes) {
    os.indent(indent);
    list(node.outputs);
    os << " = " << (node.domain.empty() ? "" : node.domain + ":") << node.opType << '(';
    list(node.inputs);
    os << ")  # " << node.label() << ", since opset " << node.sinceVersion << '\n';
    for (const onnx::Attribute &attribute : node.attributes)
      for (const auto &inner : attribute.graphs) {
        os.indent(indent + 2) << attribute.name << ":\n";
        printGraph(model, *inner, os, indent + 4);
      }
  }
  for (const onnx::Output &output : graph.outputs)
    os.indent(indent) << "output " << output.name << " = " << nameOf(output.value) << '\n';
}

void kiln::printModel(const onnx::Model &model, raw_ostream &os) {
  os << "# producer " << model.producerName << ' ' << model.producerVersion << ", ir_version "
     << model.irVersion << '\n';
  for (const auto &[domain, version] : model.opsets)
    os << "# opset " << (domain.empty() ? "ai.onnx" : domain) << ' ' << version << '\n';
  printGraph(model, model.graph, os, 0);
}

void kiln::printModule(ModuleOp module, bool printWeights, raw_ostream &os) {
  OpPrintingFlags flags;
  constexpr int64_t shownElements = 16;
  if (!printWeights)
    flags.elideLargeElementsAttrs(shownElements).elideLargeResourceString(shownElements);
  module->print(os, flags);
  os << '\n';
}

LogicalResult kiln::printKernels(ModuleOp module, KernelCompiler &compiler, raw_ostream &os) {
  OwningOpRef<ModuleOp> into = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<plan::KernelOp>())
    if (failed(compiler.build(kernel, *into)))
      return failure();
  into->print(os);
  os << '\n';
  return success();
}
