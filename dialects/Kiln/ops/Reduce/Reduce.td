//===- Reduce.td - Folding axes ----------------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_ReduceOp<string mnemonic, list<Trait> traits = []>
    : Kiln_PureOp<mnemonic, traits> {
  let arguments = (ins Kiln_NumberTensor:$x, DenseI64ArrayAttr:$axes, BoolAttr:$keepdims);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}

class Kiln_SymbolicReduceOp<string mnemonic>
    : Kiln_ReduceOp<mnemonic, [DeclareOpInterfaceMethods<SymbolicValueInterface>]>;

def Kiln_ReduceSumOp : Kiln_SymbolicReduceOp<"reduce_sum"> {
  let summary = "Sum over axes; integers wrap, nothing sums to 0.";
  let description = [{
    Floats of 32 bits or fewer are summed in at least 32 bits and rounded once.

    (C1) `axes` holds axes of x, increasing.

    ```mlir
    %1 = kiln.reduce_sum %0 {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
    ```
  }];
}
def Kiln_ReduceProdOp : Kiln_SymbolicReduceOp<"reduce_prod"> {
  let summary = "Product over axes; integers wrap, the product of nothing is 1.";
  let description = "(C1) `axes` holds axes of x, increasing.";
}
def Kiln_ReduceMaxOp : Kiln_SymbolicReduceOp<"reduce_max"> {
  let summary = "Largest element over axes; NaN where there is one, the least value for nothing.";
  let description = "(C1) `axes` holds axes of x, increasing. For bool it is \"any\".";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$axes, BoolAttr:$keepdims);
}
def Kiln_ReduceMinOp : Kiln_SymbolicReduceOp<"reduce_min"> {
  let summary = "Least element over axes; NaN where there is one, the largest value for nothing.";
  let description = "(C1) `axes` holds axes of x, increasing. For bool it is \"all\".";
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$axes, BoolAttr:$keepdims);
}
def Kiln_ReduceMeanOp : Kiln_ReduceOp<"reduce_mean"> {
  let summary = "Mean over axes; integers truncate, the mean of nothing is NaN or 0.";
  let description = "(C1) `axes` holds axes of x, increasing.";
}
