//===- StridedView.h - Where the elements of views are ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_STRIDEDVIEW_H
#define KILN_DIALECTS_KILN_IR_STRIDEDVIEW_H

#include "dialects/Kiln/IR/TensorTypes.h"

namespace kiln {

/// Element i of a value is the element of `base`, row-major, at offset + the
/// sum of i[d] * strides[d]. Dims of 1 may have any stride.
struct StridedView {
  mlir::Value base;
  Shape strides;
  Expr offset = 0;
};

/// Looks through reshapes, transposes and slices as far as strides can say what
/// they do; a value that is none of these is its own base.
StridedView stridedView(mlir::Value value);

} // namespace kiln

#endif // KILN_DIALECTS_KILN_IR_STRIDEDVIEW_H
