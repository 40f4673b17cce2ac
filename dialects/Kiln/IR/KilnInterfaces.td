//===- KilnInterfaces.td - Op interfaces -------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_KILNINTERFACES_TD
#define KILN_DIALECTS_KILN_IR_KILNINTERFACES_TD

include "mlir/IR/OpBase.td"

def SymbolicValueInterface : OpInterface<"SymbolicValueInterface"> {
  let cppNamespace = "::kiln";
  let description = [{
    An op that can say what a small integer result holds when its operands'
    elements are known as expressions: Shape, Gather, Concat, Add ... This is
    how a shape computed in the graph becomes an attribute.
  }];
  let methods = [InterfaceMethod<[{
      Elements of result 0, row-major, or nothing when they are not
      expressions. `elements(v)` gives those of operand v, or nothing.
    }],
    "std::optional<::llvm::SmallVector<::kiln::Expr>>", "symbolicValue",
    (ins "::llvm::function_ref<std::optional<::llvm::SmallVector<::kiln::Expr>>(::mlir::Value)>":$elements)>];
}

#endif // KILN_DIALECTS_KILN_IR_KILNINTERFACES_TD
