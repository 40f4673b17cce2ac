//===- PlanOps.td - The plan dialect -----------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_PLAN_IR_PLANOPS_TD
#define KILN_DIALECTS_PLAN_IR_PLANOPS_TD

include "dialects/Kiln/IR/KilnBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::kiln::plan";
  let summary = "A program of buffers, kernels and launches.";
  let description = [{
    What a target needs to see and nothing else. Tensor typed values are
    buffers: dense, row-major, of the type's size. A launch reads its `ins` and
    writes its `outs`.
  }];
  let dependentDialects = ["::kiln::KilnDialect"];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "The model: buffers and launches in order.";
  let description = [{
    Block arguments are the model's inputs. `input_names` and `output_names` are
    ONNX's; a plan.output may be a view of the output whose type is listed; `symbols` are the input symbols with their ranges.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_names, StrArrayAttr:$output_names,
                       TypeArrayAttr:$output_types,
                       StrArrayAttr:$symbols, DenseI64ArrayAttr:$lower, DenseI64ArrayAttr:$upper);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "A kernel's definition: the region of the fusions that it computes.";
  let description = [{
    Symbols in the region's types are the kernel's own (`s0`, `s1` ...): equal
    fusions share one kernel whatever their sizes are called. `family` says who
    writes its code. `layouts` names, for each input, how a packed constant
    lies in memory ("" is row-major).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$family, StrArrayAttr:$symbols,
                       StrArrayAttr:$layouts, OptionalAttr<DictionaryAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 0;
}

def Plan_AllocOp : Plan_Op<"alloc"> {
  let summary = "A buffer in the arena.";
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def Plan_OutputOp : Plan_Op<"output"> {
  let summary = "The buffer of an output of the model.";
  let arguments = (ins I64Attr:$index);
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "$index attr-dict `:` type($buffer)";
}

def Plan_ConstantOp : Plan_Op<"constant"> {
  let summary = "Elements in the weights section, packed as `layout` says.";
  let description = [{
    `layout` is "" for row-major, else "<op>:<layout>": the op's kernels pack it.
  }];
  let arguments = (ins ElementsAttr:$value, DefaultValuedStrAttr<StrAttr, "">:$layout);
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "$value attr-dict `:` type($buffer)";
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "The same buffer under another shape.";
  let arguments = (ins Kiln_Tensor:$source);
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($buffer)";
}

def Plan_LaunchOp : Plan_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "Runs a kernel: reads `ins`, writes `outs`.";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Kiln_Tensor>:$ins, Variadic<Kiln_Tensor>:$outs,
                       Kiln_ExprsAttr:$symbols, StrAttr:$nodes);
  let assemblyFormat = [{
    $kernel `ins` `(` ($ins^ `:` type($ins))? `)` `outs` `(` $outs `:` type($outs) `)`
    `symbols` $symbols `nodes` $nodes attr-dict
  }];
}

def Plan_BindOp : Plan_Op<"bind"> {
  let summary = "Reads an integer buffer's elements into symbols.";
  let arguments = (ins Kiln_Tensor:$tensor, StrArrayAttr:$symbols);
  let assemblyFormat = "$tensor $symbols attr-dict `:` type($tensor)";
}

def Plan_RequireOp : Plan_Op<"require"> {
  let summary = "The run must see two numbers that fit each other, as kiln.require says.";
  let arguments = (ins Kiln_ExprsAttr:$pair, StrAttr:$text,
                       DefaultValuedStrAttr<StrAttr, "equal">:$relation);
  let assemblyFormat = "$pair $text attr-dict";
}

#endif // KILN_DIALECTS_PLAN_IR_PLANOPS_TD
