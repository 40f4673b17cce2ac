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

inline void declareRowShape(TemplateWriter &w, const cuda::RowConfig &config) {
  w.declareShape("RowShape",
                 {config.threadsPerRow, config.rowsPerBlock, config.vectors, config.vector});
}

/// What kernels over rows have in common: a tensor seen as a matrix whose rows
/// are the axes from one on.
class RowEmitter {
public:
  RowEmitter(TemplateWriter &w, mlir::Value operand, size_t firstAxis)
      : w(w), operand(operand), shape(shapeOf(operand)), firstAxis(firstAxis),
        rows(elementCount(llvm::ArrayRef(shape).take_front(firstAxis))),
        columns(elementCount(llvm::ArrayRef(shape).drop_front(firstAxis))) {}

  /// Chooses a configuration and declares Shape, Prologue and Epilogue; false when
  /// there is none.
  bool declare() {
    auto index = [&](ElementBuilder &e, mlir::Value row, mlir::Value col) {
      Index at = w.indexOf(e, row, llvm::ArrayRef(shape).take_front(firstAxis));
      llvm::append_range(at, w.indexOf(e, col, llvm::ArrayRef(shape).drop_front(firstAxis)));
      return at;
    };
    auto made = w.prologue("Prologue", operand, index);
    if (!made)
      return false;
    prologue = *made;
    // Of a length that only the run knows nothing is kept in registers.
    constexpr int64_t beyondRegisters = int64_t(1) << 20;
    auto bytes = static_cast<int>(elementBytes(elementTypeOf(operand)));
    choice = cuda::chooseRows(w.device, w.guess(rows), columns.constant().value_or(beyondRegisters),
                              std::min(w.vectorOf(columns, bytes), prologue.vector), bytes, bytes);
    if (!choice || (!fits() && choice->config.rowsPerBlock != 1))
      return false;
    epilogue = w.epilogue("Epilogue", index);
    declareRowShape(w, choice->config);
    return !epilogue.empty();
  }

  /// Registers hold a row; else the kernel is the looped form, a block a row.
  bool fits() const {
    auto length = columns.constant();
    return length && *length <= choice->config.capacity();
  }

  /// The kernel `name`<Shape, flag, Prologue, Epilogue> or, where registers do not
  /// hold a row, `name`Looped; `extra`: arguments behind the sizes.
  DeviceKernel finish(llvm::StringRef name, bool flag, llvm::StringRef extra) {
    std::string body = "  kiln::cuda::" + name.str() + (fits() ? "" : "Looped") + "<Shape, " +
                       (flag ? "true" : "false") + ", " + prologue.type + ", Epilogue>::run(" +
                       prologue.input + ", out0, " + (fits() ? w.sizeText(rows) + ", " : "") +
                       "int(" + w.sizeText(columns) + "), " + extra.str() + prologue.functor +
                       ", " + epilogue + ");\n";
    const cuda::RowConfig &config = choice->config;
    DeviceKernel made = w.finish(name, {{1, 1, 1}, config.threads(), 0},
                                 {Expr::ceilDiv(rows, config.rowsPerBlock), Expr(1), Expr(1)},
                                 choice->prediction.text(), body);
    made.predictedSeconds = choice->seconds;
    return made;
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
