//===- ElementwiseUnary.td - Ops on one element ------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

// Operators that are two or three of these (Reciprocal, Softsign, HardSwish,
// Swish, LeakyRelu) have no op: the importer composes them, and a kernel fuses
// them back. An op exists where its formula is not the obvious one (sigmoid,
// mish, gelu), or where half types would lose digits between the steps.

class Kiln_UnaryOp<string mnemonic, list<Trait> traits = []>
    : Kiln_Op<mnemonic, !listconcat(traits, [Pure, SameOperandsAndResultType])> {
  let arguments = (ins Kiln_FloatTensor:$x);
  let results = (outs Kiln_Tensor:$y);
}

//===-- Numbers -------------------------------------------------------------===//

def Kiln_AbsOp : Kiln_UnaryOp<"abs", [Idempotent]> {
  let summary = "|x|; the least integer stays as it is.";
  let arguments = (ins Kiln_NumberTensor:$x);
}
def Kiln_NegOp : Kiln_UnaryOp<"neg", [Involution, DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "-x, also of zeros; integers wrap.";
  let arguments = (ins Kiln_NumberTensor:$x);
}
def Kiln_SignOp : Kiln_UnaryOp<"sign", [Idempotent]> {
  let summary = "-1, 0 or 1; zeros and NaN stay as they are.";
  let arguments = (ins Kiln_NumberTensor:$x);
}
def Kiln_NotOp : Kiln_UnaryOp<"not", [Involution, DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Every bit inverted; for bool that is logical.";
  let arguments = (ins RankedTensorOf<[I1, Kiln_IntTypes]>:$x);
}
def Kiln_ReluOp : Kiln_UnaryOp<"relu", [Idempotent]> {
  let summary = "max(x, 0); NaN stays NaN.";
  let arguments = (ins Kiln_NumberTensor:$x);
}
def Kiln_ShrinkOp : Kiln_UnaryOp<"shrink"> {
  let summary = "x + bias below -lambd, x - bias above lambd, else 0.";
  let description = [{
    Integers are computed as f64 and truncate.

    ```mlir
    %1 = kiln.shrink %0 {bias = 1.5 : f64, lambd = 1.5 : f64} : (tensor<5xf32>) -> tensor<5xf32>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$x, F64Attr:$bias, F64Attr:$lambd);
}

//===-- Rounding ------------------------------------------------------------===//

def Kiln_FloorOp : Kiln_UnaryOp<"floor", [Idempotent]> { let summary = "The largest integer not above x."; }
def Kiln_CeilOp : Kiln_UnaryOp<"ceil", [Idempotent]> { let summary = "The least integer not below x."; }
def Kiln_RoundOp : Kiln_UnaryOp<"round", [Idempotent]> { let summary = "The nearest integer, halves to even."; }

//===-- Functions -----------------------------------------------------------===//

def Kiln_ExpOp : Kiln_UnaryOp<"exp"> { let summary = "e to the x."; }
def Kiln_LogOp : Kiln_UnaryOp<"log"> { let summary = "Natural logarithm; NaN below 0."; }
def Kiln_SqrtOp : Kiln_UnaryOp<"sqrt"> { let summary = "Square root; NaN below 0."; }
def Kiln_SinOp : Kiln_UnaryOp<"sin"> { let summary = "Sine of radians."; }
def Kiln_CosOp : Kiln_UnaryOp<"cos"> { let summary = "Cosine of radians."; }
def Kiln_TanOp : Kiln_UnaryOp<"tan"> { let summary = "Tangent of radians."; }
def Kiln_AsinOp : Kiln_UnaryOp<"asin"> { let summary = "Inverse of sin; NaN outside [-1, 1]."; }
def Kiln_AcosOp : Kiln_UnaryOp<"acos"> { let summary = "Inverse of cos; NaN outside [-1, 1]."; }
def Kiln_AtanOp : Kiln_UnaryOp<"atan"> { let summary = "Inverse of tan."; }
def Kiln_SinhOp : Kiln_UnaryOp<"sinh"> { let summary = "Hyperbolic sine."; }
def Kiln_CoshOp : Kiln_UnaryOp<"cosh"> { let summary = "Hyperbolic cosine."; }
def Kiln_TanhOp : Kiln_UnaryOp<"tanh"> { let summary = "Hyperbolic tangent."; }
def Kiln_AsinhOp : Kiln_UnaryOp<"asinh"> { let summary = "Inverse of sinh."; }
def Kiln_AcoshOp : Kiln_UnaryOp<"acosh"> { let summary = "Inverse of cosh; NaN below 1."; }
def Kiln_AtanhOp : Kiln_UnaryOp<"atanh"> { let summary = "Inverse of tanh; NaN outside [-1, 1]."; }
def Kiln_ErfOp : Kiln_UnaryOp<"erf"> { let summary = "The error function."; }

//===-- Activations ---------------------------------------------------------===//

def Kiln_SigmoidOp : Kiln_UnaryOp<"sigmoid"> { let summary = "1 / (1 + exp(-x))."; }
def Kiln_SoftplusOp : Kiln_UnaryOp<"softplus"> { let summary = "log(1 + exp(x)), exact in both tails."; }
def Kiln_MishOp : Kiln_UnaryOp<"mish"> { let summary = "x * tanh(softplus(x))."; }
def Kiln_GeluOp : Kiln_UnaryOp<"gelu"> {
  let summary = "x times the normal distribution function of x.";
  let description = [{
    `x/2 * (1 + erf(x/sqrt 2))`, or with `approximate = "tanh"`
    `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`.
    (C1) `approximate` is "none" or "tanh".

    ```mlir
    %1 = kiln.gelu %0 {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, DefaultValuedStrAttr<StrAttr, "none">:$approximate);
  let hasVerifier = 1;
}
def Kiln_EluOp : Kiln_UnaryOp<"elu"> {
  let summary = "scale * x above 0, else scale * alpha * (exp(rate * x) - 1).";
  let description = [{
    Elu has alpha; Selu has alpha and scale; Celu has alpha and rate 1/alpha.

    ```mlir
    %1 = kiln.elu %0 {alpha = 2.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, F64Attr:$alpha, DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       DefaultValuedAttr<F64Attr, "1.0">:$rate);
}
def Kiln_HardSigmoidOp : Kiln_UnaryOp<"hard_sigmoid"> {
  let summary = "max(0, min(1, alpha * x + beta)); NaN stays NaN.";
  let description = [{
    ```mlir
    %1 = kiln.hard_sigmoid %0 {alpha = 0.2 : f64, beta = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, F64Attr:$alpha, F64Attr:$beta);
}
def Kiln_ThresholdedReluOp : Kiln_UnaryOp<"thresholded_relu"> {
  let summary = "x above alpha, else 0.";
  let description = [{
    ```mlir
    %1 = kiln.thresholded_relu %0 {alpha = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, F64Attr:$alpha);
}

//===-- Tests ---------------------------------------------------------------===//

class Kiln_TestOp<string mnemonic> : Kiln_PureOp<mnemonic> {
  let arguments = (ins Kiln_FloatTensor:$x);
  let results = (outs Kiln_BoolTensor:$y);
}
def Kiln_IsNanOp : Kiln_TestOp<"is_nan"> { let summary = "Whether x is not a number."; }
def Kiln_IsInfOp : Kiln_TestOp<"is_inf"> {
  let summary = "Whether x is an infinity of a sign that is asked for.";
  let description = [{
    ```mlir
    %1 = kiln.is_inf %0 {negative = true, positive = false} : (tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$negative,
                       DefaultValuedAttr<BoolAttr, "true">:$positive);
}
