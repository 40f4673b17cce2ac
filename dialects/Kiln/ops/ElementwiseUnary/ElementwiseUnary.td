//===- ElementwiseUnary.td - Ops on one element ------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_UnaryOp<string mnemonic, list<Trait> traits = []>
    : Kiln_Op<mnemonic, !listconcat(traits, [Pure, SameOperandsAndResultType])> {
  let arguments = (ins Kiln_Tensor:$x);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_ReluOp : Kiln_UnaryOp<"relu"> {
  let summary = "max(x, 0); NaN stays NaN.";
  let arguments = (ins Kiln_NumberTensor:$x);
}
def Kiln_SigmoidOp : Kiln_UnaryOp<"sigmoid"> {
  let summary = "1 / (1 + exp(-x)).";
  let arguments = (ins Kiln_FloatTensor:$x);
}
