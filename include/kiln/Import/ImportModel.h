//===- ImportModel.h - A checked ONNX graph as kiln IR ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_IMPORTMODEL_H
#define KILN_IMPORT_IMPORTMODEL_H

#include "dialects/Kiln/IR/ModelAttributes.h"
#include "kiln/Import/ImportTable.h"
#include "kiln/Import/ONNX/Graph.h"
#include "kiln/Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace kiln {

/// `--dim NAME=N` and `--dim NAME=LO..HI`.
struct DimRange {
  int64_t lower = 0, upper = INT64_MAX;
  bool isFixed() const { return lower == upper; }
};

struct ImportOptions {
  /// By the dimension's name in the model, or `<input>_<axis>` for an unnamed
  /// one.
  std::map<std::string, DimRange> dims;
};

/// A module with one function @main. Null when the model cannot be imported:
/// `diags` then holds every unsupported or invalid node. The IR refers to the
/// model's tensors and keeps their owners alive.
mlir::OwningOpRef<mlir::ModuleOp> importModel(onnx::Model &model, const ImportOptions &options,
                                              const ImportTable &table, mlir::MLIRContext &context,
                                              DiagnosticEngine &diags);

} // namespace kiln

#endif // KILN_IMPORT_IMPORTMODEL_H
