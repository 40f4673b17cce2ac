//===- Recurrent.h - Recurrent layers over time -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_OPS_RECURRENT_H
#define KILN_DIALECTS_KILN_OPS_RECURRENT_H

#include "dialects/Kiln/IR/TensorTypes.h"

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Recurrent/Recurrent.h.inc"

namespace kiln {

enum class Activation {
  Relu,
  Tanh,
  Sigmoid,
  Affine,
  LeakyRelu,
  ThresholdedRelu,
  ScaledTanh,
  HardSigmoid,
  Elu,
  Softsign,
  Softplus
};

/// What ONNX calls an activation, whatever its case.
std::optional<Activation> activationOf(llvm::StringRef name);

/// What the three ops have in common, whichever it is.
struct RecurrentShape {
  template <typename OpTy>
  explicit RecurrentShape(OpTy op)
      : RecurrentShape(op.getX(), op.getR(), op.getDirection(), op.getActivations(), op.getAlpha(),
                       op.getBeta()) {}
  RecurrentShape(mlir::Value x, mlir::Value r, llvm::StringRef direction,
                 mlir::ArrayAttr activations, llvm::ArrayRef<double> alpha,
                 llvm::ArrayRef<double> beta);

  struct Function {
    Activation kind;
    double alpha, beta;
    bool operator==(const Function &other) const {
      return kind == other.kind && alpha == other.alpha && beta == other.beta;
    }
  };

  Expr time, batch;
  int64_t directions, panels, hidden, columns;
  /// Whether direction d runs backward.
  bool backward(int64_t d) const { return d == 1 || reverse; }
  /// Function `i` of direction d.
  const Function &function(int64_t d, size_t i) const {
    return functions[static_cast<size_t>(d) * functions.size() / static_cast<size_t>(directions) +
                     i];
  }

private:
  bool reverse;
  llvm::SmallVector<Function, 6> functions;
};

} // namespace kiln

#endif // KILN_DIALECTS_KILN_OPS_RECURRENT_H
