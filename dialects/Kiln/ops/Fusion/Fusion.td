//===- Fusion.td - Fused groups of ops ---------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

include "mlir/Interfaces/ControlFlowInterfaces.td"

def Kiln_FusionOp : Kiln_Op<"fusion", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"::kiln::YieldOp">]> {
  let summary = "Ops that become one kernel; the region is their definition.";
  let description = [{
    The region holds the ops that the fusion replaced: it is what a kernel is
    tested against, the fallback when no kernel fits, and what a person reads.
    `kernel` names the kernel family that computes it, `nodes` the ONNX nodes
    that it came from.
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$inputs, StrAttr:$kernel, DefaultValuedStrAttr<StrAttr, "">:$nodes,
                       OptionalAttr<StrAttr>:$rule, OptionalAttr<DictionaryAttr>:$schedule,
                       OptionalAttr<DictionaryAttr>:$evidence);
  let results = (outs Variadic<Kiln_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
}

def Kiln_YieldOp : Kiln_Op<"yield", [Pure, Terminator]> {
  let summary = "The results of a fusion's region, or of a kernel's (plan.kernel).";
  let arguments = (ins Variadic<Kiln_Tensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange{}); }]>];
}
