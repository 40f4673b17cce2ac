//===- ImportModel.cpp - A checked ONNX graph as kiln IR ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelImporter.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "kiln/Reference/TensorData.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

/// Elements of a few bits, packed from the lowest bit on, as a byte each.
static TensorData unpack(const onnx::Tensor &tensor, RankedTensorType type, unsigned width) {
  TensorData data(type);
  bool isSigned = type.getElementType().isSignlessInteger();
  for (int64_t i = 0; i < data.size(); ++i) {
    auto at = static_cast<uint64_t>(i) * width;
    unsigned both = tensor.data[at / 8];
    if (at % 8 + width > 8)
      both |= static_cast<unsigned>(tensor.data[at / 8 + 1]) << 8;
    uint64_t bits = (both >> (at % 8)) & llvm::maxUIntN(width);
    data.mutableBytes()[i] =
        static_cast<char>(isSigned ? llvm::SignExtend64(bits, width) : static_cast<int64_t>(bits));
  }
  return data;
}

ElementsAttr ModelImporter::elements(const onnx::Tensor &tensor, const Twine &what) {
  Type type = elementTypeOfOnnx(&context, static_cast<int64_t>(tensor.elemType));
  if (!type) {
    diags->report(Diag::UnsupportedType, what.str(), onnx::elemTypeName(tensor.elemType));
    return nullptr;
  }
  auto tensorType = RankedTensorType::get(tensor.dims, type);
  if (unsigned width = onnx::elemTypeBits(tensor.elemType); width < 8)
    return elementsAttr(unpack(tensor, tensorType, width),
                        tensor.name.empty() ? "constant" : tensor.name);
  TensorData data(tensorType, reinterpret_cast<const char *>(tensor.data), tensor.owner);
  return elementsAttr(data, tensor.name.empty() ? "constant" : tensor.name);
}

Expr ModelImporter::declareSymbol(StringRef modelName, StringRef symbol) {
  auto range = options.dims.find(modelName.str());
  if (range != options.dims.end()) {
    usedDims.insert(modelName.str());
    if (range->second.isFixed())
      return range->second.lower;
  }
  std::string name = symbolic.claim(symbol);
  symbols.push_back(
      {name, modelName.str(), range == options.dims.end() ? DimRange() : range->second});
  return Expr::symbol(name);
}

Expr ModelImporter::inputDim(const onnx::ValueInfo &info, size_t axis) {
  const onnx::Dim &dim = info.type.dims[axis];
  if (dim.kind == onnx::Dim::Kind::Fixed)
    return dim.value;
  // Unset dims mean no shared size: each gets a symbol of its own.
  bool named = dim.kind == onnx::Dim::Kind::Symbol;
  std::string modelName = named ? dim.symbol : info.name + "_" + std::to_string(axis);
  auto it = symbolOf.find(modelName);
  if (it == symbolOf.end())
    it = symbolOf.emplace(modelName, declareSymbol(modelName, modelName)).first;
  return it->second;
}

std::optional<RankedTensorType> ModelImporter::inputType(const onnx::ValueInfo &info) {
  Type element = info.type.isTensor()
                     ? elementTypeOfOnnx(&context, static_cast<int64_t>(info.type.elemType))
                     : Type();
  if (!element) {
    diags->report(Diag::UnsupportedType, "input '" + info.name + "'", info.type.str());
    return std::nullopt;
  }
  if (!info.type.hasShape) {
    diags
        ->report(Diag::UnsupportedForm,
                 "input '" + info.name + "' has no shape, so its rank is not known")
        .nearestSupported("a shape with named or unnamed dimensions");
    return std::nullopt;
  }
  Shape shape;
  for (size_t axis = 0; axis < info.type.dims.size(); ++axis)
    shape.push_back(inputDim(info, axis));
  return tensorType(shape, element);
}

bool ModelImporter::importInputs(func::FuncOp function) {
  bool good = true;
  for (onnx::ValueId id : model.graph.inputs) {
    const onnx::ValueInfo &info = model.values[id];
    const onnx::Initializer *preset = model.graph.defaultOf(id);
    auto type = inputType(info);
    if (!type) {
      good = false;
      continue;
    }
    NamedAttrList attributes;
    attributes.set(nameAttr, b.getStringAttr(info.name));
    if (preset) {
      ElementsAttr value = elements(preset->tensor, "initializer '" + info.name + "'");
      if (!value)
        return false;
      attributes.set(defaultAttr, value);
    }
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, *type, attributes.getDictionary(&context),
                                       b.getUnknownLoc())))
      return false;
    values[id] = function.getArgument(index);
  }
  return good;
}

void ModelImporter::importInitializers(const onnx::Graph &graph) {
  for (const onnx::Initializer &initializer : graph.initializers) {
    if (initializer.isInput)
      continue;
    StringRef name = model.values[initializer.value].name;
    ElementsAttr value = elements(initializer.tensor, "initializer '" + name + "'");
    if (!value) {
      missing.insert(initializer.value);
      continue;
    }
    values[initializer.value] = ConstantOp::create(b, NameLoc::get(b.getStringAttr(name)), value);
  }
}

void ModelImporter::importOutputs(func::FuncOp function) {
  SmallVector<Value> results(*current->outputs);
  SmallVector<Type> types(ValueRange(results).getTypes());
  func::ReturnOp::create(b, b.getUnknownLoc(), results);
  function.setFunctionType(FunctionType::get(&context, function.getArgumentTypes(), types));
  for (auto [i, output] : llvm::enumerate(model.graph.outputs))
    function.setResultAttr(static_cast<unsigned>(i), nameAttr, b.getStringAttr(output.name));
}

void ModelImporter::setSymbols(ModuleOp module) {
  SmallVector<StringRef> names, modelNames;
  SmallVector<int64_t> lower, upper;
  for (const Symbol &symbol : symbols) {
    names.push_back(symbol.symbol);
    modelNames.push_back(symbol.modelName);
    lower.push_back(symbol.range.lower);
    upper.push_back(symbol.range.upper);
  }
  module->setAttr(symbolsAttr, b.getStrArrayAttr(names));
  module->setAttr(symbolNamesAttr, b.getStrArrayAttr(modelNames));
  module->setAttr(lowerAttr, b.getDenseI64ArrayAttr(lower));
  module->setAttr(upperAttr, b.getDenseI64ArrayAttr(upper));
}

OwningOpRef<ModuleOp> ModelImporter::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType({}, {}));
  b.setInsertionPointToEnd(function.addEntryBlock());
  if (!importInputs(function))
    return nullptr;
  for (const auto &[name, range] : options.dims)
    if (!usedDims.count(name)) {
      std::string known;
      for (const Symbol &symbol : symbols)
        known += (known.empty() ? "" : ", ") + symbol.modelName;
      diags->report(Diag::Usage, "--dim " + name + ": the model has no such dimension" +
                                     (known.empty() ? "" : " (it has " + known + ")"));
    }
  importInitializers(model.graph);
  GraphState state{model.graph};
  current = &state;
  importNodes();
  if (diags->hasErrors())
    return nullptr;
  importOutputs(function);
  setSymbols(*module);
  return module;
}

OwningOpRef<ModuleOp> kiln::importModel(onnx::Model &model, const ImportOptions &options,
                                        const ImportTable &table, MLIRContext &context,
                                        kiln::DiagnosticEngine &diags) {
  return ModelImporter(model, options, table, context, diags).run();
}
