//===- Symbol.td - Ops that make and use symbols -----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_ShapeOp : Kiln_PureOp<"shape", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Dimensions [start, end) of a tensor, as int64.";
  let description = [{
    (C1) 0 <= `start` <= `end` <= rank.

    ```mlir
    %1 = kiln.shape %0 {start = 0 : i64, end = 1 : i64} : (tensor<?x3xf32, #kiln.dims<"n">>) -> tensor<1xi64>
    ```
  }];
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

def Kiln_FarthestOp : Kiln_PureOp<"farthest"> {
  let summary = "The integer that lies farthest above `low`, without regard to sign.";
  let description = [{
    low + max(x - low) with unsigned differences, so that what lies below `low`
    counts as far above; `low` when x is empty. All elements lie in
    [low, high] when this one does, and it is one that does not when any does
    not: a kiln.bind and two kiln.requires check a whole tensor.

    (C1) `low` is one number.

    ```mlir
    %1 = kiln.farthest %0 {low = #kiln.exprs<"-n">} : (tensor<5xi64>) -> tensor<i64>
    ```
  }];
  let arguments = (ins Kiln_IndexTensor:$x, Kiln_ExprsAttr:$low);
  let results = (outs 0DTensorOf<[I64]>:$y);
}

def Kiln_RequireOp : Kiln_Op<"require"> {
  let summary = "The run must see two numbers that fit each other.";
  let description = [{
    `relation` is equal, at_most (the first is not larger) or broadcast (equal,
    or one of them 1). (C1) `pair` holds two expressions.

    ```mlir
    kiln.require #kiln.exprs<"a", "b"> "dim 1 of 'x' equals dim 0 of 'y'"
    kiln.require #kiln.exprs<"%k", "n"> "K is at most the dimension" {relation = "at_most"}
    ```
  }];
  let arguments = (ins Kiln_ExprsAttr:$pair, StrAttr:$text,
                       DefaultValuedStrAttr<StrAttr, "equal">:$relation);
  let assemblyFormat = "$pair $text attr-dict";
  let hasVerifier = 1;
}
