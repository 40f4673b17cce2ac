//===- ElementwiseBinary.td - Ops on two elements, broadcast --*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_BinaryOp<string mnemonic, list<Trait> traits = []>
    : Kiln_PureOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<SymbolicValueInterface>])> {
  let arguments = (ins Kiln_NumberTensor:$a, Kiln_NumberTensor:$b);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_AddOp : Kiln_BinaryOp<"add", [Commutative]> {
  let summary = "a + b with NumPy broadcasting; integers wrap.";
}
def Kiln_SubOp : Kiln_BinaryOp<"sub"> {
  let summary = "a - b with NumPy broadcasting; integers wrap.";
}
def Kiln_MulOp : Kiln_BinaryOp<"mul", [Commutative]> {
  let summary = "a * b with NumPy broadcasting; integers wrap.";
}
def Kiln_DivOp : Kiln_BinaryOp<"div"> {
  let summary = "a / b with NumPy broadcasting; integers truncate toward zero, x / 0 gives 0 for integers.";
}
