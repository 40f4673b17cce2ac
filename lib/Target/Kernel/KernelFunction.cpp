//===- KernelFunction.cpp - A kernel as an MLIR function ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/KernelFunction.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/Overwrite.h"
#include "kiln/Codegen/StoredType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kiln;

namespace {
/// The body function of a kernel while it is being made.
class BodyFunction {
public:
  BodyFunction(plan::KernelOp kernel, ModuleOp into)
      : kernel(kernel), b(into.getContext()), loc(kernel.getLoc()),
        block(kernel.getBody().front()) {
    b.setInsertionPointToEnd(into.getBody());
  }

  func::FuncOp create(const KernelTable &table) {
    // A launch may give an operand and the result the same memory.
    SmallVector<bool> isAlone(block.getNumArguments() + 1, true);
    for (unsigned i = 0; i < block.getNumArguments(); ++i)
      if (mayOverwrite(block, i, table))
        isAlone[i] = isAlone.back() = false;
    SmallVector<Type> types;
    for (auto [i, argument] : llvm::enumerate(block.getArguments()))
      types.push_back(pointerType(storedType(argument, layout(i))));
    for (Value result : block.getTerminator()->getOperands())
      types.push_back(pointerType(storedType(result, "")));
    size_t pointers = types.size();
    types.append(kernel.getSymbols().size() + 2, b.getIndexType());
    types.push_back(pointerType(b.getI8Type()));
    auto function = func::FuncOp::create(b, loc, kernel.getSymName(), b.getFunctionType(types, {}));
    function.setPrivate();
    function.setArgAttr(types.size() - 1, "llvm.noalias", b.getUnitAttr());
    for (size_t i = 0; i < pointers; ++i) {
      if (isAlone[std::min(i, isAlone.size() - 1)])
        function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
      if (i < block.getNumArguments())
        function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
    }
    b.setInsertionPointToEnd(function.addEntryBlock());
    func::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(&function.front());
    return function;
  }

  /// Tells the builder where its operands are.
  void describe(func::FuncOp function, KernelBuilder &k) {
    Block &entry = function.front();
    unsigned inputs = block.getNumArguments(), next = inputs;
    ValueRange results = block.getTerminator()->getOperands();
    next += results.size();
    for (Attribute name : kernel.getSymbols())
      k.symbols[cast<StringAttr>(name).getValue()] = entry.getArgument(next++);
    k.begin = entry.getArgument(next++);
    k.end = entry.getArgument(next++);
    k.scratch = flat(entry.getArgument(next), k.size(int64_t(INT64_MAX)), b.getI8Type());
    for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
      k.inputs.push_back(buffer(k, entry.getArgument(i), argument, layout(i)));
      k.layouts.push_back(layout(i).str());
    }
    for (auto [i, result] : llvm::enumerate(results))
      k.outputs.push_back(buffer(k, entry.getArgument(inputs + i), result, ""));
    k.b = b;
  }

  OpBuilder &builder() { return b; }

private:
  StringRef layout(unsigned input) {
    return input < kernel.getLayouts().size()
               ? cast<StringAttr>(kernel.getLayouts()[input]).getValue()
               : "";
  }

  /// Packed constants are bytes: their layout knows what they hold.
  Type storedType(Value tensor, StringRef layout) {
    return layout.empty() ? kiln::storedType(elementTypeOf(tensor)) : b.getI8Type();
  }

  Type pointerType(Type stored) { return MemRefType::get({1}, stored); }

  /// The flat, unbounded buffer at a bare pointer.
  Value flat(Value pointer, Value size, Type stored) {
    auto type = MemRefType::get({ShapedType::kDynamic}, stored);
    return memref::ReinterpretCastOp::create(b, loc, type, pointer, b.getIndexAttr(0),
                                             ArrayRef<OpFoldResult>{size},
                                             ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  }

  Buffer buffer(KernelBuilder &k, Value pointer, Value tensor, StringRef layout) {
    Buffer buffer;
    buffer.elementType = elementTypeOf(tensor);
    for (const Expr &dim : shapeOf(tensor))
      buffer.sizes.push_back(k.size(dim));
    buffer.memref =
        flat(pointer, k.size(elementCount(shapeOf(tensor))), storedType(tensor, layout));
    return buffer;
  }

  plan::KernelOp kernel;
  OpBuilder b;
  Location loc;
  Block &block;
};
} // namespace

/// The op of the region whose kernel is the family that the plan names.
static std::pair<Operation *, const OpKernels *> anchorOf(plan::KernelOp kernel,
                                                          const KernelTable &table) {
  for (Operation &op : kernel.getBody().front())
    if (const OpKernels *entry = table.find(&op))
      if (entry->kernel && entry->family == kernel.getFamily())
        return {&op, entry};
  return {nullptr, nullptr};
}

FailureOr<KernelFunction> kiln::buildKernelFunction(plan::KernelOp kernel, const KernelTable &table,
                                                    const VectorTarget &target, ModuleOp into) {
  auto [anchor, entry] = anchorOf(kernel, table);
  auto attempt = [&, anchor = anchor](KernelFn emitter) -> FailureOr<KernelFunction> {
    BodyFunction body(kernel, into);
    func::FuncOp function = body.create(table);
    KernelBuilder k(body.builder(), kernel.getLoc(), table, target, &kernel.getBody().front());
    body.describe(function, k);
    if (failed(emitter ? emitter(k, anchor) : buildLoopKernel(k))) {
      function.erase();
      return failure();
    }
    return KernelFunction{function, {k.unitCount, k.unitCost, k.scratchBytes, k.gaveUpLanes}};
  };
  // An emitter that cuts work for a few wide threads is of no use to thousands
  // of narrow ones when elements can be computed one by one.
  KernelFn emitter = entry && !(target.isDevice && entry->fallback) ? entry->kernel : nullptr;
  auto built = attempt(emitter);
  // An emitter may decline (a form that it has no code for yet).
  if (failed(built) && emitter)
    built = attempt(nullptr);
  if (failed(built))
    return kernel.emitError("no kernel for this fusion");
  return built;
}
