//===- Control.td - Branches and loops ---------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

/// What gives values to symbols stays, though nothing may use its results.
class Kiln_ControlOp<string mnemonic>
    : Kiln_Op<mnemonic, [RecursiveMemoryEffects, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                         SingleBlockImplicitTerminator<"::kiln::YieldOp">]>;

def Kiln_IfOp : Kiln_ControlOp<"if"> {
  let summary = "Computes one of two regions.";
  let description = [{
    Regions use what dominates the op. A result's size is an expression that
    both branches agree on, or a symbol of `symbols`, to which the branch that
    runs gives its own size. What a branch binds is valid in it alone.

    (C1) Both regions yield a value of the rank and element type of each result.
    (C2) Each size is both branches' or a symbol of `symbols`. (C3) Each of these
    symbols is a size of a result.

    ```mlir
    %1 = kiln.if %0 {symbols = ["n"]} : tensor<i1> -> tensor<?xf32, #kiln.dims<"n">> {
      kiln.yield %a : tensor<4xf32>
    } else {
      kiln.yield %b : tensor<?xf32, #kiln.dims<"batch">>
    }
    ```
  }];
  let arguments = (ins 0DTensorOf<[I1]>:$condition, DefaultValuedAttr<StrArrayAttr, "{}">:$symbols);
  let results = (outs Variadic<Kiln_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $condition attr-dict `:` type($condition) (`->` type($outputs)^)? $thenRegion `else` $elseRegion
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Kiln_LoopOp : Kiln_ControlOp<"loop"> {
  let summary = "Computes a region again and again.";
  let description = [{
    The body runs `trips` times (never when that is negative); `iteration` is a
    symbol that counts from 0. It yields, in order: when the loop is
    `conditional`, whether to go on; the next carried values; elements of the
    stacks. Results are the last carried values, then the stacks, which hold one
    element an iteration along a new first axis.

    The op gives values to `symbols`. As a size of a carried value such a symbol
    is what that size is now, and after the loop what it was at last. As a first
    size of a stack it is the number of iterations; as another size that of the
    elements so far (0 before the first one), which the body must require not to
    change.

    (C1) The body has an argument for each carried value, and yields what is said
    above. (C2) Arguments and results that are carried have the same types; their
    sizes are those before the loop and those yielded, or symbols of `symbols`.
    (C3) A stack's first size is `trips` or, when the loop is conditional, a
    symbol of `symbols`; the others are those yielded or symbols of `symbols`.
    (C4) Each of these symbols is a size of a result.

    ```mlir
    %1:2 = kiln.loop(%0) {trips = #kiln.exprs<"n">, iteration = "i", symbols = []}
        : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #kiln.dims<"n">>) {
    ^bb0(%now: tensor<4xf32>):
      %next = kiln.add %now, %now : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      kiln.yield %next, %now : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$inits, Kiln_ExprsAttr:$trips, StrAttr:$iteration,
                       UnitAttr:$conditional, DefaultValuedAttr<StrArrayAttr, "{}">:$symbols);
  let results = (outs Variadic<Kiln_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inits `)` attr-dict `:` functional-type($inits, $outputs) $body
  }];
  let extraClassDeclaration = [{
    /// Of what the body yields: those that are carried, and the stacks' elements.
    ::mlir::OperandRange getNext();
    ::mlir::OperandRange getElements();
    /// Whether to go on; null when the loop is not conditional.
    ::mlir::Value getGoOn();
    ::mlir::ResultRange getStacks() { return getOutputs().drop_front(getInits().size()); }
    ::kiln::Expr getTripCount() { return ::kiln::exprsOf(getTrips())[0]; }
  }];
  let hasVerifier = 1;
}
