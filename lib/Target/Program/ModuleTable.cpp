//===- ModuleTable.cpp - The table that the runtime reads -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes kiln_generated_module field by field in the order of
// kiln-c/ModuleABI.h. LLVM lays the structs out as the C compiler does.
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/ModelAttributes.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln-c/ModuleABI.h"
#include "kiln/Target/Link/Manifest.h"
#include "kiln/Target/Program/Program.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace kiln;
using llvm::Constant;

namespace {
class TableWriter {
public:
  TableWriter(llvm::Module &module) : module(module), context(module.getContext()) {}

  Constant *number(unsigned bits, uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getIntNTy(context, bits), value);
  }
  Constant *u32(uint64_t value) { return number(32, value); }
  Constant *u64(uint64_t value) { return number(64, value); }
  Constant *null() { return llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0)); }
  Constant *record(ArrayRef<Constant *> fields) { return llvm::ConstantStruct::getAnon(fields); }

  Constant *text(StringRef value) {
    Constant *&known = strings[value];
    if (!known)
      known = global(llvm::ConstantDataArray::getString(context, value));
    return known;
  }
  /// The address of a constant array; null when it is empty.
  Constant *array(ArrayRef<Constant *> elements) {
    if (elements.empty())
      return null();
    auto type = llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return global(llvm::ConstantArray::get(type, elements));
  }
  /// A text in a section of its own.
  Constant *section(StringRef value, StringRef name) {
    llvm::GlobalVariable *variable = global(llvm::ConstantDataArray::getString(context, value));
    // Else it would be a section of strings to merge, which a linker may rearrange.
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::None);
    variable->setSection(name);
    return variable;
  }
  llvm::GlobalVariable *global(Constant *value, StringRef name = "") {
    auto *variable = new llvm::GlobalVariable(module, value->getType(), true,
                                              llvm::GlobalValue::PrivateLinkage, value, name);
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }

  /// The address of what another object defines.
  Constant *external(StringRef name) {
    if (llvm::GlobalVariable *known = module.getNamedGlobal(name))
      return known;
    auto *variable =
        new llvm::GlobalVariable(module, llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 0),
                                 true, llvm::GlobalValue::ExternalLinkage, nullptr, name);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return variable;
  }

  llvm::Module &module;
  llvm::LLVMContext &context;

private:
  llvm::StringMap<Constant *> strings;
};

/// DLPack's type codes. Types of less than 8 bits take a byte all the same.
kiln_module_dtype dtypeOf(Type element) {
  unsigned bits = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  uint8_t code = llvm::TypeSwitch<Type, uint8_t>(element)
                     .Case([](Float8E4M3FNType) { return 10; })
                     .Case([](Float8E4M3FNUZType) { return 11; })
                     .Case([](Float8E5M2Type) { return 12; })
                     .Case([](Float8E5M2FNUZType) { return 13; })
                     .Case([](Float6E2M3FNType) { return 15; })
                     .Case([](Float6E3M2FNType) { return 16; })
                     .Case([](Float4E2M1FNType) { return 17; })
                     .Case([](BFloat16Type) { return 4; })
                     .Case([](FloatType) { return 2; })
                     .Default([](Type type) {
                       return type.isInteger(1) ? 6 : type.isUnsignedInteger() ? 1 : 0;
                     });
  return {code, static_cast<uint8_t>(bits), 1};
}
} // namespace

Constant *kiln::addModuleTable(plan::ProgramOp program, const ProgramLayout &layout,
                               const ModuleInfo &info, Constant *device, llvm::Module &module) {
  TableWriter w(module);
  auto symbolNames = program->getAttrOfType<ArrayAttr>(symbolNamesAttr);
  auto modelName = [&](StringRef symbol) {
    for (auto [name, shown] : llvm::zip(program.getSymbols(), symbolNames))
      if (cast<StringAttr>(name).getValue() == symbol)
        return cast<StringAttr>(shown).getValue();
    return symbol;
  };
  auto dimRecord = [&](const Expr &dim) {
    StringRef symbol = dim.symbolName();
    int64_t index = symbol.empty() ? -1 : static_cast<int64_t>(layout.symbolIndex(symbol));
    StringRef text = symbol.empty() ? dim.str() : modelName(symbol);
    return w.record({w.u64(static_cast<uint64_t>(dim.constant().value_or(-1))),
                     w.u32(static_cast<uint64_t>(index)), w.u32(0), w.text(text)});
  };
  auto tensorRecord = [&](StringRef name, RankedTensorType type, uint32_t flags,
                          uint64_t defaultOffset) {
    SmallVector<Constant *> dims;
    for (const Expr &dim : shapeOf(type))
      dims.push_back(dimRecord(dim));
    kiln_module_dtype dtype = dtypeOf(type.getElementType());
    return w.record({w.text(name),
                     w.record({w.number(8, dtype.code), w.number(8, dtype.bits), w.number(16, 1)}),
                     w.u32(dims.size()), w.array(dims), w.u32(flags), w.u32(0),
                     w.u64(defaultOffset)});
  };

  SmallVector<Constant *> inputs, outputs, symbols, buffers, launches, weights, constraints;
  for (auto [i, argument] : llvm::enumerate(program.getBody().front().getArguments())) {
    unsigned weight = layout.defaultWeights[i];
    bool optional = weight != ~0u;
    inputs.push_back(tensorRecord(cast<StringAttr>(program.getInputNames()[i]).getValue(),
                                  cast<RankedTensorType>(argument.getType()),
                                  optional ? KILN_MODULE_TENSOR_OPTIONAL : 0,
                                  optional ? layout.weights[weight].offset : 0));
  }
  for (auto [i, type] : llvm::enumerate(layout.outputs))
    outputs.push_back(tensorRecord(cast<StringAttr>(program.getOutputNames()[i]).getValue(), type,
                                   layout.isLate(type) ? KILN_MODULE_TENSOR_LATE : 0, 0));
  for (auto [i, name] : llvm::enumerate(layout.symbols)) {
    bool isInput = i < layout.numInputSymbols;
    symbols.push_back(
        w.record({w.text(modelName(name)),
                  w.u64(static_cast<uint64_t>(isInput ? program.getLower()[i] : INT64_MIN)),
                  w.u64(static_cast<uint64_t>(isInput ? program.getUpper()[i] : INT64_MAX))}));
  }
  SmallVector<Constant *> launchSteps, bufferWriters;
  for (const auto &buffer : layout.arena) {
    buffers.push_back(w.record({w.u32(buffer.first), w.u32(buffer.last)}));
    bufferWriters.push_back(w.u32(buffer.writer.value_or(layout.launches.size())));
  }
  for (const auto &launch : layout.launches) {
    launches.push_back(w.record({w.text(launch.kernel), w.text(launch.nodes)}));
    launchSteps.push_back(w.u32(launch.step));
  }
  for (const auto &weight : layout.weights)
    weights.push_back(w.record({w.text(weight.name), w.u64(weight.offset), w.u64(weight.bytes),
                                w.u32(weight.crc32c), w.u32(0)}));
  for (const std::string &text : layout.constraints)
    constraints.push_back(w.text(text));

  Constant *weightsBase = w.external("kiln_weights");
  SmallVector<Constant *> batchAxes;
  for (int32_t axis : info.batchAxes)
    batchAxes.push_back(w.u32(static_cast<uint64_t>(axis)));
  auto function = [&](StringRef name) {
    llvm::Function *found = module.getFunction(layout.prefix + name.str());
    found->setLinkage(llvm::GlobalValue::InternalLinkage);
    return found;
  };
  Constant *digest = llvm::ConstantDataArray::get(w.context, ArrayRef<uint8_t>(info.digest));
  Constant *table = w.record({
      w.u32(KILN_MODULE_MAGIC),
      w.number(16, KILN_MODULE_ABI_MAJOR),
      w.number(16, KILN_MODULE_ABI_MINOR),
      w.u32(sizeof(kiln_module)),
      w.u32(inputs.size()),
      w.u32(outputs.size()),
      w.u32(symbols.size()),
      w.u32(layout.numInputSymbols),
      w.u32(layout.numBoundSymbols),
      w.u32(buffers.size()),
      w.u32(launches.size()),
      w.u32(weights.size()),
      w.u32(constraints.size()),
      w.text(info.name),
      w.text(info.producer),
      w.text(info.target),
      w.text(info.features),
      info.batchSymbol.empty() ? w.null() : w.text(info.batchSymbol),
      digest,
      w.array(inputs),
      w.array(outputs),
      w.array(symbols),
      w.array(buffers),
      w.array(launches),
      w.array(weights),
      w.array(constraints),
      weightsBase,
      w.u64(layout.weightsSize),
      function("bind"),
      function("sizes"),
      function("output_dims"),
      function("run"),
      w.u32(layout.readsInputs),
      w.u32(0),
      w.array(batchAxes),
      info.batchObstacle.empty() ? w.null() : w.text(info.batchObstacle),
      device ? device : w.null(),
      info.manifest.empty() ? w.null() : w.section(info.manifest, manifestSection),
      w.u64(info.manifest.size()),
      w.array(launchSteps),
      w.array(bufferWriters),
  });
  auto *global =
      new llvm::GlobalVariable(module, table->getType(), true, llvm::GlobalValue::ExternalLinkage,
                               table, layout.prefix + "module");
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return global;
}

Constant *kiln::addDeviceTable(Constant *plan, const DeviceInfo &info, llvm::Module &module) {
  TableWriter w(module);
  SmallVector<Constant *> kernels, images;
  for (const DeviceInfo::Kernel &kernel : info.kernels)
    kernels.push_back(w.record({w.text(kernel.name), w.u32(kernel.slots), w.u32(kernel.numGrids)}));
  for (const DeviceInfo::Image &image : info.images) {
    llvm::GlobalVariable *bytes = w.global(llvm::ConstantDataArray::getString(
        w.context, image.bytes, /*AddNull=*/image.kind == KILN_MODULE_IMAGE_PTX));
    bytes->setAlignment(llvm::Align(16));
    images.push_back(w.record({w.text(image.arch), bytes, w.u64(image.bytes.size()),
                               w.u32(image.kind), w.u32(image.kernel), w.u32(image.threads),
                               w.u32(image.unitsPerBlock), w.u32(image.sharedBytes),
                               w.u32(image.usesScratch), w.u32(image.grid), w.u32(0)}));
  }
  return w.global(w.record({plan, w.array(kernels), w.array(images), w.u32(kernels.size()),
                            w.u32(images.size()), w.external(info.driver)}));
}
