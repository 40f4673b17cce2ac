//===- Symbol.td - Ops that make and use symbols -----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_ShapeOp : Kiln_PureOp<"shape", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Dimensions [start, end) of a tensor, as int64.";
  let arguments = (ins Kiln_Tensor:$x, I64Attr:$start, I64Attr:$end);
  let results = (outs 1DTensorOf<[I64]>:$y);
}

def Kiln_ExprsOp : Kiln_PureOp<"exprs", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "A tensor of int64 whose elements are size expressions.";
  let description = [{
    ```mlir
    %0 = kiln.exprs {values = #kiln.exprs<"batch", "2*seq">} : () -> tensor<2xi64>
    ```
  }];
  let arguments = (ins Kiln_ExprsAttr:$values);
  let results = (outs 1DTensorOf<[I64]>:$y);
}

def Kiln_BindOp : Kiln_Op<"bind"> {
  let summary = "Gives elements of an integer tensor to symbols.";
  let description = [{
    The run reads the elements here; types and attributes below use the
    symbols. (C1) one symbol an element.

    ```mlir
    kiln.bind %shape ["%s0", "%s1"] : tensor<2xi64>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I1, Kiln_IntTypes]>:$tensor, StrArrayAttr:$symbols);
  let assemblyFormat = "$tensor $symbols attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Kiln_RequireOp : Kiln_Op<"require"> {
  let summary = "The run must see two equal sizes.";
  let description = [{
    ```mlir
    kiln.require #kiln.exprs<"a", "b"> "dim 1 of 'x' equals dim 0 of 'y'"
    ```
  }];
  let arguments = (ins Kiln_ExprsAttr:$pair, StrAttr:$text);
  let assemblyFormat = "$pair $text attr-dict";
  let hasVerifier = 1;
}
