//===- KernelFunction.cpp - A kernel as an MLIR function ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/KernelFunction.h"
#include "kiln/Codegen/FusionGroup.h"
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

  func::FuncOp create(const KernelTable &table, StringRef name, TypeRange extra) {
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
    types.append(kernel.getSymbols().size(), b.getIndexType());
    llvm::append_range(types, extra);
    auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
    function.setPrivate();
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

  /// Tells the builder where its operands are; returns the arguments after them.
  ValueRange describe(func::FuncOp function, KernelBuilder &k) {
    Block &entry = function.front();
    unsigned inputs = block.getNumArguments(), next = inputs;
    ValueRange results = block.getTerminator()->getOperands();
    next += results.size();
    for (Attribute name : kernel.getSymbols())
      k.symbols[cast<StringAttr>(name).getValue()] = entry.getArgument(next++);
    for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
      k.inputs.push_back(buffer(k, entry.getArgument(i), argument, layout(i)));
      k.layouts.push_back(layout(i).str());
    }
    for (auto [i, result] : llvm::enumerate(results))
      k.outputs.push_back(buffer(k, entry.getArgument(inputs + i), result, ""));
    k.b = b;
    return ValueRange(entry.getArguments()).drop_front(next);
  }

  /// The flat, unbounded buffer at a bare pointer.
  Value flat(Value pointer, Value size, Type stored) {
    auto type = MemRefType::get({ShapedType::kDynamic}, stored);
    return memref::ReinterpretCastOp::create(b, loc, type, pointer, b.getIndexAttr(0),
                                             ArrayRef<OpFoldResult>{size},
                                             ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  }
  Type pointerType(Type stored) { return MemRefType::get({1}, stored); }

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

FailureOr<KernelFunction> kiln::buildKernelFunction(plan::KernelOp kernel, const KernelTable &table,
                                                    const VectorTarget &target, ModuleOp into) {
  Operation *anchor = anchorOf(kernel.getBody().front(), kernel.getFamily(), table);
  const OpKernels *entry = anchor ? table.find(anchor) : nullptr;
  auto attempt = [&](KernelFn emitter) -> FailureOr<KernelFunction> {
    BodyFunction body(kernel, into);
    Type index = body.builder().getIndexType(), i8 = body.builder().getI8Type();
    func::FuncOp function =
        body.create(table, kernel.getSymName(), {index, index, body.pointerType(i8)});
    function.setArgAttr(function.getNumArguments() - 1, "llvm.noalias",
                        body.builder().getUnitAttr());
    KernelBuilder k(body.builder(), kernel.getLoc(), table, target, &kernel.getBody().front());
    ValueRange share = body.describe(function, k);
    k.begin = share[0];
    k.end = share[1];
    k.scratch = body.flat(share[2], k.size(int64_t(INT64_MAX)), i8);
    if (failed(emitter ? emitter(k, anchor) : buildLoopKernel(k))) {
      function.erase();
      return failure();
    }
    return KernelFunction{function, {k.unitCount, k.unitCost, k.scratchBytes, k.gaveUpLanes}};
  };
  // An emitter that cuts work for a few wide threads is of no use to thousands
  // of narrow ones when elements can be computed one by one.
  bool onlyElements = llvm::all_of(kernel.getBody().front(), [&](Operation &op) {
    const OpKernels *kernels = table.find(&op);
    return !kernels || !kernels->kernel || kernels->fallback;
  });
  KernelFn emitter =
      entry && !(target.isDevice && entry->fallback && onlyElements) ? entry->kernel : nullptr;
  auto built = attempt(emitter);
  // An emitter may decline (a form that it has no code for yet).
  if (failed(built) && emitter)
    built = attempt(nullptr);
  if (failed(built))
    return kernel.emitError("no kernel for this fusion");
  return built;
}

FailureOr<func::FuncOp> kiln::buildElementFunction(
    plan::KernelOp kernel, const KernelTable &table, const VectorTarget &target, ModuleOp into,
    StringRef name, TypeRange parameters, function_ref<Value(KernelBuilder &, ValueRange)> body) {
  BodyFunction frame(kernel, into);
  func::FuncOp function = frame.create(table, name, parameters);
  KernelBuilder k(frame.builder(), kernel.getLoc(), table, target, &kernel.getBody().front());
  ValueRange arguments = frame.describe(function, k);
  Value result = body(k, arguments);
  if (!result) {
    function.erase();
    return failure();
  }
  auto end = cast<func::ReturnOp>(function.front().getTerminator());
  end.getOperandsMutable().append(result);
  function.setFunctionType(
      FunctionType::get(kernel.getContext(), function.getArgumentTypes(), result.getType()));
  return function;
}
