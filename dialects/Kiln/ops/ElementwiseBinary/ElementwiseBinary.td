//===- ElementwiseBinary.td - Ops on two elements, broadcast --*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

// All ops broadcast as NumPy does. Greater is less with operands exchanged,
// Clip is max and min, Sum and Mean are chains of add: the importer composes.

class Kiln_BinaryOp<string mnemonic, list<Trait> traits = []> : Kiln_PureOp<mnemonic, traits> {
  let arguments = (ins Kiln_NumberTensor:$a, Kiln_NumberTensor:$b);
  let results = (outs Kiln_Tensor:$y);
}

/// An op that size arithmetic uses, or a condition on sizes.
class Kiln_ArithmeticOp<string mnemonic, list<Trait> traits = []>
    : Kiln_BinaryOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<SymbolicValueInterface>])>;

//===-- Arithmetic ----------------------------------------------------------===//

def Kiln_AddOp : Kiln_ArithmeticOp<"add", [Commutative]> {
  let summary = "a + b with NumPy broadcasting; integers wrap.";
  let hasFolder = 1;
}
def Kiln_SubOp : Kiln_ArithmeticOp<"sub"> {
  let summary = "a - b with NumPy broadcasting; integers wrap.";
  let hasFolder = 1;
}
def Kiln_MulOp : Kiln_ArithmeticOp<"mul", [Commutative]> {
  let summary = "a * b with NumPy broadcasting; integers wrap.";
  let hasFolder = 1;
}
def Kiln_DivOp : Kiln_ArithmeticOp<"div"> {
  let summary = "a / b with NumPy broadcasting; integers truncate toward zero, x / 0 gives 0 for integers.";
  let hasCanonicalizeMethod = 1;
  let hasFolder = 1;
}
def Kiln_ModOp : Kiln_ArithmeticOp<"mod"> {
  let summary = "a - b * q, where q is a / b rounded down or, with `truncate`, toward zero.";
  let description = [{
    The result's sign is b's, or a's with `truncate`. x mod 0 gives 0 for
    integers and NaN for floats; a finite float mod an infinity is itself when
    the signs agree (always with `truncate`), else the infinity.

    ```mlir
    %1 = kiln.mod %0, %b {truncate = false} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$a, Kiln_NumberTensor:$b, DefaultValuedAttr<BoolAttr, "false">:$truncate);
}
def Kiln_MinOp : Kiln_ArithmeticOp<"min", [Commutative]> {
  let summary = "The smaller of a and b with NumPy broadcasting; NaN when one is NaN.";
  let hasFolder = 1;
}
def Kiln_MaxOp : Kiln_ArithmeticOp<"max", [Commutative]> {
  let summary = "The larger of a and b with NumPy broadcasting; NaN when one is NaN.";
  let hasFolder = 1;
}
def Kiln_PowOp : Kiln_BinaryOp<"pow"> {
  let summary = "a to the b with NumPy broadcasting, as C's pow.";
  let description = [{
    The result has a's element type; b may have another. An integer to an
    integer wraps; to a negative one it is 0, but for bases 1 and -1. An
    integer to a float is computed as f64, truncates and saturates.

    ```mlir
    %1 = kiln.pow %0, %b : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
    ```
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
def Kiln_PreluOp : Kiln_PureOp<"prelu"> {
  let summary = "slope * x where x < 0, else x.";
  let description = [{
    (C1) `slope` broadcasts to x's shape, which is the result's.

    ```mlir
    %1 = kiln.prelu %0, %slope : (tensor<1x2x2xf32>, tensor<2x1xf32>) -> tensor<1x2x2xf32>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$x, Kiln_NumberTensor:$slope);
  let results = (outs Kiln_NumberTensor:$y);
}

//===-- Comparisons ---------------------------------------------------------===//

def Kiln_EqualOp : Kiln_ArithmeticOp<"equal", [Commutative]> {
  let summary = "Whether a == b with NumPy broadcasting; NaN equals nothing.";
  let arguments = (ins Kiln_Tensor:$a, Kiln_Tensor:$b);
}
def Kiln_LessOp : Kiln_ArithmeticOp<"less"> {
  let summary = "Whether a < b with NumPy broadcasting; false on NaN.";
}
def Kiln_LessEqualOp : Kiln_ArithmeticOp<"less_equal"> {
  let summary = "Whether a <= b with NumPy broadcasting; false on NaN.";
}

//===-- Bits ----------------------------------------------------------------===//

class Kiln_BitsOp<string mnemonic> : Kiln_BinaryOp<mnemonic, [Commutative]> {
  let arguments = (ins RankedTensorOf<[I1, Kiln_IntTypes]>:$a, RankedTensorOf<[I1, Kiln_IntTypes]>:$b);
}
def Kiln_AndOp : Kiln_BitsOp<"and"> { let summary = "a & b with NumPy broadcasting; logical for bool."; }
def Kiln_OrOp : Kiln_BitsOp<"or"> { let summary = "a | b with NumPy broadcasting; logical for bool."; }
def Kiln_XorOp : Kiln_BitsOp<"xor"> { let summary = "a ^ b with NumPy broadcasting; logical for bool."; }

def Kiln_ShiftOp : Kiln_BinaryOp<"shift"> {
  let summary = "a moved by b bits, to the left or to the right, with NumPy broadcasting.";
  let description = [{
    To the right, signed integers keep their sign. When b is negative or not
    less than the width, all bits have been moved out: 0, or -1 for a negative
    number to the right.

    ```mlir
    %1 = kiln.shift %0, %b {left = true} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
    ```
  }];
  let arguments = (ins Kiln_IntTensor:$a, Kiln_IntTensor:$b, BoolAttr:$left);
}
