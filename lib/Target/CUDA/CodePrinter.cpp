//===- CodePrinter.cpp - MLIR functions as CUDA C++ -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodePrinter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

/// A longer text is a variable of its own.
static constexpr size_t longestInlined = 60;

std::string CodePrinter::typeOf(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return typeOf(memref.getElementType()) + " *";
  if (type.isIndex())
    return "int64_t";
  if (type.isInteger(1))
    return "bool";
  if (auto integer = dyn_cast<IntegerType>(type))
    return "int" + std::to_string(integer.getWidth()) + "_t";
  if (type.isF16())
    return "__half";
  if (type.isBF16())
    return "__nv_bfloat16";
  return type.isF64() ? "double" : "float";
}

std::string CodePrinter::freshName(StringRef stem) { return (stem + Twine(nextName++)).str(); }

llvm::raw_ostream &CodePrinter::line() { return os.indent(2 * depth); }

std::string CodePrinter::text(Value value) {
  auto known = texts.find(value);
  assert(known != texts.end() && "printed before its uses");
  return known->second;
}

/// Whether an op is nothing but its value.
static bool isPureScalar(Operation &op) {
  return op.getNumResults() == 1 && op.getNumRegions() == 0 &&
         isa<arith::ArithDialect, math::MathDialect>(op.getDialect());
}

bool CodePrinter::isInlined(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return true;
  return op.hasOneUse() && (*op.getUsers().begin())->getBlock() == op.getBlock();
}

LogicalResult CodePrinter::print(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(print(op)))
      return failure();
  return success();
}

LogicalResult CodePrinter::printNested(Block &block) {
  ++depth;
  LogicalResult result = print(block);
  --depth;
  return result;
}

LogicalResult CodePrinter::print(Operation &op) {
  if (isPureScalar(op)) {
    SmallVector<std::string> operands;
    for (Value operand : op.getOperands())
      operands.push_back(text(operand));
    std::string value = expressionOf(op, operands);
    if (value.empty())
      return op.emitOpError("has no form in CUDA C++: ") << op;
    if (isInlined(op) && value.size() <= longestInlined) {
      texts[op.getResult(0)] = value;
      return success();
    }
    std::string variable = freshName("v");
    StringRef bare = value;
    if (bare.front() == '(' && bare.find(')') == bare.size() - 1)
      bare = bare.drop_front().drop_back();
    line() << "const " << typeOf(op.getResult(0).getType()) << ' ' << variable << " = " << bare
           << ";\n";
    texts[op.getResult(0)] = variable;
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](memref::LoadOp load) {
        std::string variable = freshName("v");
        line() << "const " << typeOf(load.getType()) << ' ' << variable << " = "
               << text(load.getMemRef()) << '['
               << (load.getIndices().empty() ? "0" : text(load.getIndices().back())) << "];\n";
        texts[load.getResult()] = variable;
        return success();
      })
      .Case([&](memref::StoreOp store) {
        line() << text(store.getMemRef()) << '['
               << (store.getIndices().empty() ? "0" : text(store.getIndices().back()))
               << "] = " << text(store.getValueToStore()) << ";\n";
        return success();
      })
      .Case([&](memref::ReinterpretCastOp cast) {
        texts[cast.getResult()] = text(cast.getSource());
        return success();
      })
      .Case([&](memref::ViewOp view) {
        std::string type = typeOf(view.getType()), variable = freshName("buffer");
        line() << type << variable << " = reinterpret_cast<" << type << ">("
               << text(view.getSource()) << " + " << text(view.getByteShift()) << ");\n";
        texts[view.getResult()] = variable;
        return success();
      })
      .Case([&](func::CallOp call) {
        if (call.getNumResults() != 1)
          return failure();
        std::string variable = freshName("v");
        line() << "const " << typeOf(call.getResult(0).getType()) << ' ' << variable << " = "
               << call.getCallee() << '(';
        llvm::interleaveComma(call.getOperands(), os, [&](Value operand) { os << text(operand); });
        os << ");\n";
        texts[call.getResult(0)] = variable;
        return success();
      })
      .Case([&](scf::ForOp) { return printFor(op); })
      .Case([&](scf::IfOp) { return printIf(op); })
      .Case([&](scf::WhileOp) { return printWhile(op); })
      .Default([&](Operation *) { return op.emitOpError("has no form in CUDA C++: ") << op; });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void CodePrinter::declareResults(Operation &op) {
  for (Value result : op.getResults()) {
    texts[result] = freshName("r");
    line() << typeOf(result.getType()) << ' ' << texts[result] << ";\n";
  }
}

void CodePrinter::assign(ValueRange variables, ValueRange values) {
  SmallVector<std::pair<std::string, std::string>> changes;
  SmallVector<Type> types;
  for (auto [variable, value] : llvm::zip_equal(variables, values))
    if (text(variable) != text(value)) {
      changes.push_back({text(variable), text(value)});
      types.push_back(value.getType());
    }
  // All at once: a value may be made of another variable's old one.
  if (changes.size() > 1)
    for (auto [type, change] : llvm::zip_equal(types, changes)) {
      std::string next = freshName("next");
      line() << "const " << typeOf(type) << ' ' << next << " = " << change.second << ";\n";
      change.second = next;
    }
  for (auto &[variable, value] : changes)
    line() << variable << " = " << value << ";\n";
}

LogicalResult CodePrinter::printFor(Operation &op) {
  auto loop = cast<scf::ForOp>(op);
  for (auto [init, carried, result] :
       llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    std::string variable = freshName("sum");
    line() << typeOf(result.getType()) << ' ' << variable << " = " << text(init) << ";\n";
    name(carried, variable);
    name(result, variable);
  }
  std::string iv = freshName("i"), lower = text(loop.getLowerBound()),
              upper = text(loop.getUpperBound());
  texts[loop.getInductionVar()] = iv;
  bool strides = loop.getLowerBound() == strideBegin && loop.getUpperBound() == strideEnd;
  std::string step = strides ? stride : text(loop.getStep());
  line() << "for (int64_t " << iv << " = " << lower << "; " << iv << " < " << upper << "; "
         << (step == "1" ? "++" + iv : iv + " += " + step) << ") {\n";
  if (failed(printNested(*loop.getBody())))
    return failure();
  ++depth;
  assign(loop.getResults(), loop.getBody()->getTerminator()->getOperands());
  --depth;
  line() << "}\n";
  return success();
}

LogicalResult CodePrinter::printIf(Operation &op) {
  auto branch = cast<scf::IfOp>(op);
  declareResults(op);
  auto block = [&](Block &block) {
    if (failed(printNested(block)))
      return failure();
    ++depth;
    assign(branch.getResults(), block.getTerminator()->getOperands());
    --depth;
    return success();
  };
  line() << "if (" << text(branch.getCondition()) << ") {\n";
  if (failed(block(*branch.thenBlock())))
    return failure();
  if (Block *otherwise = branch.elseBlock()) {
    line() << "} else {\n";
    if (failed(block(*otherwise)))
      return failure();
  }
  line() << "}\n";
  return success();
}

LogicalResult CodePrinter::printWhile(Operation &op) {
  auto loop = cast<scf::WhileOp>(op);
  Block &before = *loop.getBeforeBody(), &after = *loop.getAfterBody();
  for (auto [init, argument] : llvm::zip_equal(loop.getInits(), before.getArguments())) {
    std::string variable = freshName("sum");
    line() << typeOf(argument.getType()) << ' ' << variable << " = " << text(init) << ";\n";
    name(argument, variable);
  }
  declareResults(op);
  for (auto [result, argument] : llvm::zip_equal(loop.getResults(), after.getArguments()))
    name(argument, text(result));
  line() << "while (true) {\n";
  if (failed(printNested(before)))
    return failure();
  auto condition = cast<scf::ConditionOp>(before.getTerminator());
  ++depth;
  assign(loop.getResults(), condition.getArgs());
  line() << "if (!" << text(condition.getCondition()) << ")\n";
  line() << "  break;\n";
  --depth;
  if (failed(printNested(after)))
    return failure();
  ++depth;
  assign(before.getArguments(), after.getTerminator()->getOperands());
  --depth;
  line() << "}\n";
  return success();
}
