//===- FunctionBuilder.h - One generated function ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_PROGRAM_FUNCTIONBUILDER_H
#define KILN_LIB_TARGET_PROGRAM_FUNCTIONBUILDER_H

#include "dialects/Kiln/IR/Relation.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln-c/ModuleABI.h"
#include "kiln/Codegen/EmitExpr.h"
#include "kiln/Target/Program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace kiln {

/// One generated function under construction: loads, stores and arithmetic on
/// the structs of ModuleABI.h.
class FunctionBuilder {
public:
  FunctionBuilder(mlir::ModuleOp module, const ProgramLayout &layout, const std::string &name,
                  unsigned numPointers, bool hasStatus)
      : layout(layout), b(module.getContext()), loc(module.getLoc()),
        pointer(mlir::LLVM::LLVMPointerType::get(b.getContext())) {
    b.setInsertionPointToEnd(module.getBody());
    llvm::SmallVector<mlir::Type> arguments(numPointers, pointer), results;
    if (hasStatus)
      results.push_back(b.getI32Type());
    function = mlir::func::FuncOp::create(b, loc, name, b.getFunctionType(arguments, results));
    b.setInsertionPointToEnd(function.addEntryBlock());
  }

  mlir::Value argument(unsigned i) { return function.getArgument(i); }

  mlir::Value constant(int64_t value) {
    return mlir::LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
  }
  mlir::Value constant32(int64_t value) {
    return mlir::LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                          b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  mlir::Value at(mlir::Value base, int64_t byteOffset) {
    return mlir::LLVM::GEPOp::create(
        b, loc, pointer, b.getI8Type(), base,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(byteOffset)});
  }
  mlir::Value at(mlir::Value base, mlir::Value byteOffset) {
    return mlir::LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                                     llvm::ArrayRef<mlir::LLVM::GEPArg>{byteOffset});
  }
  mlir::Value load(mlir::Type type, mlir::Value address) {
    return mlir::LLVM::LoadOp::create(b, loc, type, address);
  }
  mlir::Value loadPointer(mlir::Value base, int64_t byteOffset) {
    return load(pointer, at(base, byteOffset));
  }
  void store(mlir::Value value, mlir::Value base, int64_t byteOffset) {
    mlir::LLVM::StoreOp::create(b, loc, value, at(base, byteOffset));
  }

  /// The value of a size, as i64; symbols are loaded once a block.
  mlir::Value size(const Expr &expr) {
    mlir::Value index = emitExpr(b, loc, expr, [&](llvm::StringRef name) { return symbol(name); });
    return mlir::arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  }
  /// Bytes of a tensor, as i64. Sizes that the run reads from data may be
  /// absurd: a product that would wrap becomes one that no allocator grants.
  mlir::Value bytes(mlir::Type tensor) {
    constexpr double most = 0x1p46;
    auto number = [&](double value) -> mlir::Value {
      return mlir::arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
    };
    mlir::Value exact = size(bytesOf(tensor)), estimate = number(8);
    Shape shape = shapeOf(tensor);
    if (llvm::all_of(shape, [](const Expr &dim) { return dim.constant().has_value(); }))
      return exact;
    for (const Expr &dim : shape)
      estimate = mlir::arith::MulFOp::create(
          b, loc, estimate, mlir::arith::SIToFPOp::create(b, loc, b.getF64Type(), size(dim)));
    mlir::Value sane = mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OLE,
                                                   estimate, number(most));
    return mlir::arith::SelectOp::create(b, loc, sane, exact, constant(INT64_MAX / 2));
  }
  mlir::Value symbol(llvm::StringRef name) {
    mlir::Value address = at(symbols, 8 * static_cast<int64_t>(layout.symbolIndex(name)));
    return mlir::arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                            load(b.getI64Type(), address));
  }

  void define(llvm::StringRef name, mlir::Value value) {
    store(value, symbols, 8 * static_cast<int64_t>(layout.symbolIndex(name)));
  }

  /// Goes on in a new block; where `condition` holds, returns `status` after
  /// `before` has run.
  void returnIf(mlir::Value condition, int32_t status, llvm::function_ref<void()> before) {
    mlir::Block *current = b.getInsertionBlock();
    mlir::Block *leave = b.createBlock(&function.getBody(), function.getBody().end());
    before();
    mlir::func::ReturnOp::create(b, loc, constant32(status));
    mlir::Block *go = b.createBlock(&function.getBody(), function.getBody().end());
    b.setInsertionPointToEnd(current);
    mlir::cf::CondBranchOp::create(b, loc, condition, leave, go);
    b.setInsertionPointToEnd(go);
  }

  /// Checks a requirement; `fault` is the address of a kiln_module_fault.
  void require(plan::RequireOp op, unsigned constraint, mlir::Value fault) {
    Shape pair = exprsOf(op.getPair());
    mlir::Value left = size(pair[0]), right = size(pair[1]);
    Relation relation = *relationNamed(op.getRelation());
    using Predicate = mlir::arith::CmpIPredicate;
    auto compare = [&](Predicate predicate, mlir::Value x, mlir::Value y) -> mlir::Value {
      return mlir::arith::CmpIOp::create(b, loc, predicate, x, y);
    };
    mlir::Value clash =
        compare(relation == Relation::AtMost ? Predicate::sgt : Predicate::ne, left, right);
    if (relation == Relation::Broadcast)
      for (mlir::Value side : {left, right})
        clash =
            mlir::arith::AndIOp::create(b, loc, clash, compare(Predicate::ne, side, constant(1)));
    returnIf(clash, KILN_MODULE_CONSTRAINT, [&] {
      store(constant32(constraint), fault, offsetof(kiln_module_fault, constraint));
      store(left, fault, offsetof(kiln_module_fault, left));
      store(right, fault, offsetof(kiln_module_fault, right));
    });
  }

  /// Reads a tensor's elements into its symbols.
  void bind(plan::BindOp op, mlir::Value data) {
    mlir::Type element =
        llvm::cast<mlir::RankedTensorType>(op.getTensor().getType()).getElementType();
    int64_t bytes = elementBytes(element);
    for (auto [i, name] : llvm::enumerate(op.getSymbols())) {
      mlir::Value value = load(b.getIntegerType(static_cast<unsigned>(bytes * 8)),
                               at(data, static_cast<int64_t>(i) * bytes));
      if (bytes < 8)
        value = element.isUnsignedInteger() || element.isInteger(1)
                    ? mlir::Value(mlir::arith::ExtUIOp::create(b, loc, b.getI64Type(), value))
                    : mlir::Value(mlir::arith::ExtSIOp::create(b, loc, b.getI64Type(), value));
      define(llvm::cast<mlir::StringAttr>(name).getValue(), value);
    }
  }

  void finish(bool hasStatus) {
    if (hasStatus)
      mlir::func::ReturnOp::create(b, loc, constant32(KILN_MODULE_OK));
    else
      mlir::func::ReturnOp::create(b, loc);
  }

  const ProgramLayout &layout;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Type pointer;
  mlir::func::FuncOp function;
  mlir::Value symbols; // address of kiln_module_frame::symbols' first
};

} // namespace kiln

#endif // KILN_LIB_TARGET_PROGRAM_FUNCTIONBUILDER_H
