//===- Artefact.h - Graphs, evaluated and run -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_ARTEFACT_H
#define KILN_TOOLS_KILN_RULES_ARTEFACT_H

#include "kiln-c/Loader.h"
#include "kiln/Patterns/Instance.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Reference/TensorData.h"
#include <deque>

namespace kiln {

using Tensors = llvm::SmallVector<TensorData>;

/// Elements from -2 to 2 for the inputs of a graph.
Tensors randomInputs(mlir::ModuleOp graph, Random &random);

/// What a graph's results are, by plain loops; fusions are their regions.
mlir::FailureOr<Tensors> evaluateGraph(mlir::ModuleOp graph, const Tensors &inputs,
                                       const ReferenceTable &table);

/// The same in which no value is rounded to less than f32: what a fused kernel is
/// compared with, for it rounds its result only. Results are f32 in place of f16.
mlir::FailureOr<Tensors> evaluateWidened(mlir::ModuleOp graph, const Tensors &inputs,
                                         const ReferenceTable &table);

/// Tensors of the types of a graph's results.
Tensors resultsOf(mlir::ModuleOp graph);

/// What results may differ by: of numbers up to 1 absolute, beyond relative.
double allowedError(mlir::Type elementType);

/// The largest such difference, infinite where one is NaN and the other is not;
/// and the same over what is allowed for `got`.
struct Difference {
  double error = 0, ofAllowed = 0;
};
Difference difference(const Tensors &got, const Tensors &want);

std::string textOf(mlir::ModuleOp module);

/// Inputs and outputs in the form that artefacts take. Artefacts that are timed
/// side by side share them: where buffers lie decides some ten percent.
class Arguments {
public:
  /// Inputs are copied; of outputs only the types are.
  Arguments(const Tensors &inputs, const Tensors &outputs);
  Arguments(const Arguments &) = delete;
  Arguments &operator=(const Arguments &) = delete;

  const Tensors &outputs() const { return results; }

private:
  friend class Artefact;
  DLTensor *addView(TensorData &data);

  struct View {
    llvm::SmallVector<int64_t> shape;
    DLTensor tensor = {};
  };
  Tensors inputs, results;
  std::deque<View> views;
  llvm::SmallVector<const DLTensor *> in;
  llvm::SmallVector<DLTensor *> out;
};

/// A loaded artefact with one session.
class Artefact {
public:
  /// Null, and why, when it does not open. `threads` and `device` as in
  /// kiln_session_options.
  static std::unique_ptr<Artefact> open(const std::string &path, uint32_t threads, std::string &why,
                                        const char *device = "cpu");
  ~Artefact();
  Artefact(const Artefact &) = delete;
  Artefact &operator=(const Artefact &) = delete;

  kiln_status_t run(Arguments &a) {
    return kiln_run(session, a.in.data(), static_cast<uint32_t>(a.in.size()), a.out.data(),
                    static_cast<uint32_t>(a.out.size()), nullptr);
  }
  /// Of the latest run.
  int64_t arenaBytes() const;

private:
  Artefact() = default;

  kiln_artefact *artefact = nullptr;
  kiln_model *model = nullptr;
  kiln_pool *pool = nullptr;
  kiln_session *session = nullptr;
};

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_ARTEFACT_H
