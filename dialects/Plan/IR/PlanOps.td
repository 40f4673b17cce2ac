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
  let summary = "A buffer in the arena, or of memory that the run asks for.";
  let description = [{
    The arena holds buffers whose size inputs decide. Others, and those that are
    to be `on_heap`, are asked for here.
  }];
  let arguments = (ins UnitAttr:$on_heap);
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

//===-- Control flow --------------------------------------------------------===//

// What a region yields is buffers, not their elements: a result is the buffer
// that the run's last region yielded, so it may be one of several.

def Plan_YieldOp : Plan_Op<"yield", [Pure, Terminator]> {
  let summary = "The buffers that a branch or an iteration hands on.";
  let arguments = (ins Variadic<Kiln_Tensor>:$buffers);
  let assemblyFormat = "($buffers^ `:` type($buffers))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange{}); }]>];
}

def Plan_DefineOp : Plan_Op<"define"> {
  let summary = "Gives the values of expressions to symbols, all at once.";
  let arguments = (ins Kiln_ExprsAttr:$values, StrArrayAttr:$symbols);
  let assemblyFormat = "$symbols $values attr-dict";
}

def Plan_IfOp : Plan_Op<"if", [SingleBlockImplicitTerminator<"::kiln::plan::YieldOp">]> {
  let summary = "Runs one of two regions.";
  let arguments = (ins Kiln_Tensor:$condition);
  let results = (outs Variadic<Kiln_Tensor>:$buffers);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{
    $condition attr-dict `:` type($condition) (`->` type($buffers)^)? $thenRegion `else` $elseRegion
  }];
}

def Plan_LoopOp : Plan_Op<"loop", [AttrSizedOperandSegments, SingleBlockImplicitTerminator<"::kiln::plan::YieldOp">]> {
  let summary = "Runs a region again and again, as kiln.loop.";
  let description = [{
    A buffer that is handed on must hold its elements through the next iteration:
    it is one that the body does not write (a `plan.alternate`'s other half, a
    buffer made outside), or one on the heap. At the end of each iteration the
    heap is as before the loop, but for buffers that are handed on and `stacks`.
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$inits, Variadic<Kiln_Tensor>:$stacks,
                       Kiln_ExprsAttr:$trips, StrAttr:$iteration, UnitAttr:$conditional);
  let results = (outs Variadic<Kiln_Tensor>:$buffers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `inits` `(` ($inits^ `:` type($inits))? `)` `stacks` `(` ($stacks^ `:` type($stacks))? `)`
    `trips` $trips `iteration` $iteration attr-dict-with-keyword (`->` type($buffers)^)? $body
  }];
}

def Plan_AlternateOp : Plan_Op<"alternate", [Pure, AllTypesMatch<["even", "odd"]>]> {
  let summary = "One of two buffers: the second in iterations with odd numbers.";
  let arguments = (ins Kiln_Tensor:$even, Kiln_Tensor:$odd, StrAttr:$iteration);
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "$even `,` $odd $iteration attr-dict `:` type($even) `to` type($buffer)";
}

def Plan_SlotOp : Plan_Op<"slot", [Pure]> {
  let summary = "Where element `index` along the first axis of a buffer lies.";
  let arguments = (ins Kiln_Tensor:$stack, Kiln_ExprsAttr:$index);
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "$stack $index attr-dict `:` type($stack) `to` type($buffer)";
}

def Plan_CopyOp : Plan_Op<"copy"> {
  let summary = "Copies a buffer's elements to another of the same size.";
  let arguments = (ins Kiln_Tensor:$from, Kiln_Tensor:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($from) `to` type($to)";
}

def Plan_StackOp : Plan_Op<"stack"> {
  let summary = "An empty buffer on the heap that plan.append makes longer.";
  let description = [{
    Its type is that at the end of the loop which appends to it. A plan.stacked
    behind the loop is the buffer.
  }];
  let results = (outs Kiln_Tensor:$stack);
  let assemblyFormat = "attr-dict `:` type($stack)";
}

def Plan_AppendOp : Plan_Op<"append"> {
  let summary = "Copies an element behind those that a plan.stack has.";
  let arguments = (ins Kiln_Tensor:$element, Kiln_Tensor:$stack);
  let assemblyFormat = "$element `to` $stack attr-dict `:` type($element) `to` type($stack)";
}

def Plan_StackedOp : Plan_Op<"stacked"> {
  let summary = "The buffer that a plan.stack has become.";
  let arguments = (ins Kiln_Tensor:$stack);
  let results = (outs Kiln_Tensor:$buffer);
  let assemblyFormat = "$stack attr-dict `:` type($stack) `to` type($buffer)";
}

#endif // KILN_DIALECTS_PLAN_IR_PLANOPS_TD
