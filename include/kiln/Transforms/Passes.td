//===- Passes.td - Passes on the kiln dialect --------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TRANSFORMS_PASSES_TD
#define KILN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldConstantsPass : Pass<"kiln-fold-constants", "::mlir::func::FuncOp"> {
  // Made by createFoldConstantsPass, which takes the tables that the pass reads.
  let constructor = "nullptr";
  let summary = "Evaluates ops whose operands are constants";
  let description = [{
    Uses the reference evaluation, so a folded value is what the oracle says.
    Results that would be much larger than their operands stay ops: a splat
    that is expanded costs nothing at run time and megabytes in a file.
  }];
  let statistics = [Statistic<"numFolded", "ops-folded", "Number of ops evaluated">];
}

def ProveBatchPass : Pass<"kiln-prove-batch", "::mlir::ModuleOp"> {
  // Made by createProveBatchPass, which takes the tables that the pass reads.
  let constructor = "nullptr";
  let summary = "Proves that rows of a batch stay apart";
  let description = [{
    Sets `kiln.batch_axes` on the module when row r of each result depends on row
    r of the inputs alone: requests may then share a run. Otherwise sets
    `kiln.batch_obstacle`, which names the first op that mixes rows. An op that
    lib/Transforms/BatchRules.cpp does not know is taken to mix them.
  }];
  let options = [Option<"batchDim", "dim", "std::string", "\"\"",
                        "Name in the model of the batch dimension">];
}

def LowerPrecisionPass : Pass<"kiln-lower-precision", "::mlir::func::FuncOp"> {
  // Made by createLowerPrecisionPass.
  let constructor = "nullptr";
  let summary = "Multiplies in 16 bits";
  let description = [{
    Matrix products, convolutions (but for those of single channels) and attention
    of f32 get operands that are rounded to `type`; their sums stay f32, and so does
    all else: softmax, norms, reductions, elementwise ops. A mask of an attention
    is kept finite.
  }];
  let options = [Option<"type", "type", "std::string", "\"bf16\"", "f16 or bf16">];
  let dependentDialects = ["::kiln::KilnDialect"];
  let statistics = [Statistic<"numLowered", "ops-lowered", "Number of ops that multiply in 16 bits">];
}

def FusePass : Pass<"kiln-fuse", "::mlir::func::FuncOp"> {
  // Made by createFusePass, which takes the tables that the pass reads.
  let constructor = "nullptr";
  let summary = "Groups ops into kiln.fusion";
  let description = [{
    The generic fuser. Walks ops from results to operands; an op starts a group
    and takes in producers: pullable ones that nothing else needs, and one anchor
    (contraction, reduction, pool ...) behind a chain of pointwise ops. Every
    op that needs a kernel ends up in a fusion; views and constants stay out.
    What pulling an op costs is found by building its code (pullCost).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [Statistic<"numFusions", "fusions", "Number of fusions made">];
}

def PlanPass : Pass<"kiln-plan", "::mlir::ModuleOp"> {
  // Made by createPlanPass, which takes the tables that the pass reads.
  let constructor = "nullptr";
  let summary = "Turns the function of fusions into plan.program and plan.kernel";
  let description = [{
    Equal fusions share a kernel: their regions are compared with sizes renamed
    and, for pointwise kernels, with neighbouring axes merged.
  }];
  let dependentDialects = ["::kiln::plan::PlanDialect"];
}

def ShareBuffersPass : Pass<"kiln-share-buffers", "::mlir::ModuleOp"> {
  // Made by createShareBuffersPass, which takes the tables that the pass reads.
  let constructor = "nullptr";
  let summary = "Lets results take the place of operands that nothing reads afterwards";
  let description = [{
    Works on plan.program. The plan has fewer buffers, and the arena is smaller.
  }];
  let statistics = [Statistic<"numShared", "shared", "Number of buffers saved">];
}

#endif // KILN_TRANSFORMS_PASSES_TD
