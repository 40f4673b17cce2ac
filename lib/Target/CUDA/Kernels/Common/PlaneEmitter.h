//===- PlaneEmitter.h - Sizes of kernels over planes ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_PLANEEMITTER_H
#define KILN_TARGET_CUDA_KERNELS_COMMON_PLANEEMITTER_H

#include "kiln/Target/CUDA/Template.h"

namespace kiln {

/// Something of both spatial dims. One dim is a plane whose height is `missing`.
struct PlanePair {
  Expr height, width;

  static PlanePair of(llvm::ArrayRef<Expr> dims, const Expr &missing) {
    return dims.size() == 2 ? PlanePair{dims[0], dims[1]} : PlanePair{missing, dims[0]};
  }
  static PlanePair of(llvm::ArrayRef<int64_t> dims, int64_t missing) {
    return dims.size() == 2 ? PlanePair{dims[0], dims[1]} : PlanePair{missing, dims[0]};
  }
};

/// What windows over planes have in common: tensors [images, channels, spatial...]
/// seen as rows, a plane each, and columns, the places in it.
template <typename OpTy> struct PlaneWindows {
  PlaneWindows(OpTy op, mlir::Value x, mlir::Value y, llvm::ArrayRef<Expr> kernelDims)
      : in(shapeOf(x)), out(shapeOf(y)), spatial(in.size() - 2), pads(exprsOf(op.getPads())) {
    if (spatial < 1 || spatial > 2)
      return;
    size = PlanePair::of(llvm::ArrayRef(in).drop_front(2), 1);
    result = PlanePair::of(llvm::ArrayRef(out).drop_front(2), 1);
    kernel = PlanePair::of(kernelDims, 1);
    before = PlanePair::of(llvm::ArrayRef(pads).take_front(spatial), 0);
    after = PlanePair::of(llvm::ArrayRef(pads).drop_front(spatial), 0);
    stride = PlanePair::of(op.getStrides(), 1);
    dilation = PlanePair::of(op.getDilations(), 1);
  }

  bool isPlane() const { return spatial == 1 || spatial == 2; }
  static Index place(TemplateWriter &w, ElementBuilder &e, llvm::ArrayRef<Expr> shape,
                     mlir::Value row, mlir::Value col) {
    Index index = w.indexOf(e, row, shape.take_front(2));
    llvm::append_range(index, w.indexOf(e, col, shape.drop_front(2)));
    return index;
  }

  Shape in, out;
  size_t spatial;
  Shape pads;
  PlanePair size, result, kernel, before, after, stride, dilation;
};

/// Declares `struct Geometry` with these members and returns the text that makes
/// one. What is known when compiling is static: divisions by it are
/// multiplications.
inline std::string declareGeometry(TemplateWriter &w,
                                   std::initializer_list<std::pair<llvm::StringRef, Expr>> sizes) {
  std::string fields, statics, values;
  for (const auto &[name, size] : sizes) {
    if (auto number = size.constant()) {
      statics += ("  static constexpr int " + name + " = " + llvm::Twine(*number) + ";\n").str();
    } else {
      fields += ("  int " + name + ";\n").str();
      values += (values.empty() ? "" : ", ") + ("int(" + w.sizeText(size) + ")");
    }
  }
  w.declare("struct Geometry {\n" + statics + fields + "};");
  return "Geometry{" + values + "}";
}

} // namespace kiln

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_PLANEEMITTER_H
