//===- RowEmitter.h - Instantiates kernels over rows ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_ROWEMITTER_H
#define KILN_TARGET_CUDA_KERNELS_COMMON_ROWEMITTER_H

#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"

namespace kiln {

/// What kernels over rows have in common: a tensor seen as a matrix whose rows
/// are the axes from one on.
class RowEmitter {
public:
  RowEmitter(TemplateWriter &w, mlir::Value operand, size_t firstAxis)
      : w(w), operand(operand), shape(shapeOf(operand)), firstAxis(firstAxis),
        rows(elementCount(llvm::ArrayRef(shape).take_front(firstAxis))),
        columns(elementCount(llvm::ArrayRef(shape).drop_front(firstAxis))) {}

  /// Chooses a configuration and declares Shape, Prologue and Epilogue; false when
  /// there is none. `vectorResult`: the result is stored in vectors, too.
  bool declare(int resultBytes) {
    int64_t line = columns.constant().value_or(1);
    int vector = cuda::widestVector(4, cuda::vectorBytes, line, line);
    // Of a length that only the run knows nothing is kept in registers.
    constexpr int64_t long_ = int64_t(1) << 20;
    choice = cuda::chooseRows(w.device, w.guess(rows), columns.constant().value_or(long_), vector,
                              4, resultBytes);
    if (!choice)
      return false;
    auto index = [&](ElementBuilder &e, mlir::Value row, mlir::Value col) {
      auto sizes = [&](llvm::ArrayRef<Expr> dims) {
        llvm::SmallVector<mlir::Value> values;
        for (const Expr &dim : dims)
          values.push_back(e.size(dim));
        return values;
      };
      Index at = e.delinearize(row, sizes(llvm::ArrayRef(shape).take_front(firstAxis)));
      llvm::append_range(at,
                         e.delinearize(col, sizes(llvm::ArrayRef(shape).drop_front(firstAxis))));
      return at;
    };
    auto made = w.prologue("Prologue", operand, index);
    if (!made)
      return false;
    prologue = *made;
    epilogue = w.epilogue("Epilogue", index);
    const cuda::RowConfig &c = choice->config;
    w.declare(("using Shape = kiln::cuda::RowShape<" + llvm::Twine(c.threadsPerRow) + ", " +
               llvm::Twine(c.rowsPerBlock) + ", " + llvm::Twine(c.vectors) + ", " +
               llvm::Twine(c.vector) + ">;")
                  .str());
    return !epilogue.empty();
  }

  /// Registers hold a row; else the kernel is the looped form, a block a row.
  bool fits() const {
    auto length = columns.constant();
    return length && *length <= choice->config.capacity();
  }

  DeviceKernel finish(llvm::StringRef algorithm, llvm::StringRef body) {
    const cuda::RowConfig &config = choice->config;
    return w.finish(algorithm, {{1, 1, 1}, config.threads(), 0},
                    {Expr::ceilDiv(rows, config.rowsPerBlock), Expr(1), Expr(1)},
                    choice->prediction.text(), body);
  }

  TemplateWriter &w;
  mlir::Value operand;
  Shape shape;
  size_t firstAxis;
  Expr rows, columns;
  std::optional<cuda::Choice<cuda::RowConfig>> choice;
  TemplateWriter::Prologue prologue;
  std::string epilogue;
};

} // namespace kiln

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_ROWEMITTER_H
