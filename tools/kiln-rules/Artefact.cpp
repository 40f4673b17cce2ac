//===- Artefact.cpp - Graphs, evaluated and run ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artefact.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "kiln/Reference/Interpreter.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

static func::FuncOp mainOf(ModuleOp graph) { return *graph.getOps<func::FuncOp>().begin(); }

Tensors kiln::randomInputs(ModuleOp graph, Random &random) {
  Tensors inputs;
  for (Type type : mainOf(graph).getArgumentTypes()) {
    TensorData data(cast<RankedTensorType>(type));
    for (int64_t i = 0; i < data.size(); ++i) {
      double value = static_cast<double>(random() >> 11) * 0x1p-53 * 4 - 2;
      if (isa<FloatType>(data.elementType()))
        data.setFloat(i, value);
      else
        data.setInt(i, static_cast<int64_t>(value * 4));
    }
    inputs.push_back(std::move(data));
  }
  return inputs;
}

FailureOr<Tensors> kiln::evaluateGraph(ModuleOp graph, const Tensors &inputs,
                                       const ReferenceTable &table) {
  Block &block = mainOf(graph).getBody().front();
  Interpreter interpreter(table, /*maxOps=*/1000);
  for (auto [argument, data] : llvm::zip_equal(block.getArguments(), inputs))
    interpreter.setValue(argument, data);
  return interpreter.run(block);
}

static Type widened(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

static TensorData widened(const TensorData &data) {
  Type element = widened(data.elementType());
  if (element == data.elementType())
    return data;
  TensorData wide(RankedTensorType::get(data.shape(), element));
  for (int64_t i = 0; i < data.size(); ++i)
    wide.setFloat(i, data.getFloat(i));
  return wide;
}

FailureOr<Tensors> kiln::evaluateWidened(ModuleOp graph, const Tensors &inputs,
                                         const ReferenceTable &table) {
  OwningOpRef<ModuleOp> wide = graph.clone();
  wide->walk([](ConstantOp constant) {
    if (auto data = tensorDataOf(constant.getValue())) {
      TensorData elements = widened(*data);
      constant.setValueAttr(elementsAttr(elements));
      constant.getResult().setType(elements.type());
    }
  });
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FloatType type) { return widened(type); });
  replacer.recursivelyReplaceElementsIn(*wide, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return evaluateGraph(
      *wide,
      Tensors(llvm::map_range(inputs, [](const TensorData &input) { return widened(input); })),
      table);
}

Tensors kiln::resultsOf(ModuleOp graph) {
  Tensors results;
  for (Type type : mainOf(graph).getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  return results;
}

double kiln::allowedError(Type elementType) {
  return !isa<FloatType>(elementType)                ? 0.5
         : elementType.getIntOrFloatBitWidth() == 16 ? 2e-2
                                                     : 2e-4;
}

Difference kiln::difference(const Tensors &got, const Tensors &want) {
  Difference worst;
  for (auto [a, b] : llvm::zip_equal(got, want)) {
    double error = 0;
    for (int64_t i = 0; i < b.size(); ++i) {
      double x = a.getFloat(i), y = b.getFloat(i);
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      double off = std::abs(x - y) / std::max(1.0, std::abs(y));
      error = std::isnan(off) ? HUGE_VAL : std::max(error, off);
    }
    worst.error = std::max(worst.error, error);
    worst.ofAllowed = std::max(worst.ofAllowed, error / allowedError(a.elementType()));
  }
  return worst;
}

std::string kiln::textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

//===----------------------------------------------------------------------===//
// Artefacts
//===----------------------------------------------------------------------===//

static DLDataType dataType(Type type) {
  auto bits = static_cast<uint8_t>(std::max(8u, type.getIntOrFloatBitWidth()));
  uint8_t code = type.isBF16()              ? kDLBfloat
                 : isa<FloatType>(type)     ? kDLFloat
                 : type.isInteger(1)        ? kDLBool
                 : type.isUnsignedInteger() ? kDLUInt
                                            : kDLInt;
  return {code, bits, 1};
}

DLTensor *Arguments::addView(TensorData &data) {
  View &view = views.emplace_back();
  view.shape.assign(data.shape().begin(), data.shape().end());
  view.tensor.data = data.mutableBytes();
  view.tensor.device = {kDLCPU, 0};
  view.tensor.ndim = static_cast<int32_t>(view.shape.size());
  view.tensor.dtype = dataType(data.elementType());
  view.tensor.shape = view.shape.data();
  return &view.tensor;
}

Arguments::Arguments(const Tensors &given, const Tensors &outputs) {
  for (const TensorData &input : given) {
    TensorData &copy = inputs.emplace_back(input.type());
    std::memcpy(copy.mutableBytes(), input.bytes(), static_cast<size_t>(input.byteSize()));
  }
  for (const TensorData &output : outputs)
    results.emplace_back(output.type());
  for (TensorData &input : inputs)
    in.push_back(addView(input));
  for (TensorData &output : results)
    out.push_back(addView(output));
}

std::unique_ptr<Artefact> Artefact::open(const std::string &path, uint32_t threads,
                                         std::string &why, const char *device) {
  std::unique_ptr<Artefact> result(new Artefact());
  kiln_session_options options = {};
  options.struct_size = sizeof(options);
  options.threads = threads;
  options.device = device;
  // Arenas start on a page: where they lie within one decides some ten percent.
  kiln_pool_options memory = {};
  memory.struct_size = sizeof(memory);
  memory.flags = KILN_POOL_MMAP;
  kiln_status_t status = kiln_open(path.c_str(), nullptr, &result->artefact);
  const kiln_api *api = kiln_artefact_api(result->artefact);
  if (status == KILN_OK)
    status = kiln_model_open(api, nullptr, &result->model);
  if (status == KILN_OK)
    status = kiln_pool_create(api, &memory, &result->pool);
  options.pool = result->pool;
  if (status == KILN_OK)
    status = kiln_session_create(result->model, &options, &result->session);
  if (status == KILN_OK)
    return result;
  why = kiln_status_name(status);
  return nullptr;
}

Artefact::~Artefact() {
  kiln_session_destroy(session);
  kiln_pool_destroy(pool);
  kiln_model_close(model);
  (void)kiln_close(artefact);
}

int64_t Artefact::arenaBytes() const {
  kiln_memory_plan plan = {};
  plan.struct_size = sizeof(plan);
  return kiln_session_memory_plan(session, &plan, nullptr, 0) == KILN_OK
             ? static_cast<int64_t>(plan.arena_bytes)
             : 0;
}
