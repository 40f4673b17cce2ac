//===- Template.h - Hand-written templates of kernels -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of lib/Target/CUDA/Kernels holds a template in CUDA C++ and, in
// <Kernel>.emit.cpp, what instantiates it for an op: the forms that it takes, a
// configuration for the device, functors from the fusion's region. An op whose
// template declines, or that has none, gets the generic kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_TEMPLATE_H
#define KILN_TARGET_CUDA_TEMPLATE_H

#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Target/CUDA/DeviceFacts.h"
#include "kiln/Target/CUDA/KernelEmitter.h"
#include "lib/Target/CUDA/Kernels/Common/Config.h"

namespace kiln {

/// One kernel that a template is being instantiated for.
class TemplateWriter {
public:
  TemplateWriter(plan::KernelOp kernel, mlir::Operation *anchor, const KernelTable &table,
                 const cuda::DeviceFacts &device, mlir::PassManager &passes)
      : kernel(kernel), anchor(anchor), table(table), device(device), passes(passes) {}

  plan::KernelOp kernel;
  mlir::Operation *const anchor;
  const KernelTable &table;
  const cuda::DeviceFacts &device;

  //===-- The fusion ------------------------------------------------------===//

  /// The name of the argument that an anchor's operand is, when it lies in
  /// memory as it is; else "".
  std::string inputOf(mlir::Value operand) const;
  /// The fusion has one result, of the anchor's shape and of this type.
  bool yieldsOne(mlir::Type elementType);
  /// A size as a number: the exact one, or a guess where only the run knows.
  static int64_t guess(const Expr &size);
  /// How many f32 elements of lines of this length move at once.
  static int vectorOf(const Expr &line);
  /// The index over `dims` of a place that counts them row by row.
  static Index indexOf(ElementBuilder &e, mlir::Value place, llvm::ArrayRef<Expr> dims);

  //===-- Text ------------------------------------------------------------===//

  /// A size over the kernel's symbols in C++, an int64_t.
  static std::string sizeText(const Expr &size);
  /// A functor `name` with `T operator()(float value, long row, long col) const`:
  /// what the fusion makes of `value` at the anchor's result. `place` turns row and
  /// column into the result's index. Returns the text that constructs one; ""
  /// when it has no form.
  using Place = llvm::function_ref<Index(ElementBuilder &e, mlir::Value row, mlir::Value col)>;
  std::string epilogue(llvm::StringRef name, Place place);
  /// The same in front: `value` is what lies in memory at the place of an input of
  /// the operand's shape, from which the fusion makes the operand's element.
  struct Prologue {
    std::string input, functor, type;
  };
  std::optional<Prologue> prologue(llvm::StringRef name, mlir::Value operand, Place place);
  /// Includes a header of Kernels/.
  void include(llvm::StringRef header);
  /// A declaration in front of the kernel.
  void declare(const llvm::Twine &text) { declarations += text.str() + "\n"; }
  /// Declares `Shape`, an instance of a template of configurations.
  void declareShape(llvm::StringRef shapeTemplate, llvm::ArrayRef<int> parameters);

  /// A functor `T operator()(parameters) const` whose code is `body`'s value.
  struct FunctorParameter {
    mlir::Type type;
    std::string name;
  };
  struct FreeFunctor {
    /// The text that declares it, and the one that constructs it.
    std::string declaration, value;
    /// Parameters that it looks at.
    llvm::SmallVector<bool> uses;
    double operations = 0;
  };
  using FunctorBody =
      llvm::function_ref<mlir::Value(KernelBuilder &k, mlir::ValueRange parameters)>;
  std::optional<FreeFunctor> freeFunctor(llvm::StringRef name,
                                               llvm::ArrayRef<FunctorParameter> parameters,
                                               FunctorBody body);

  /// The kernel: `body` is its statements, `grid` its blocks. `note`: how the
  /// configuration was chosen.
  DeviceKernel finish(llvm::StringRef algorithm, const cuda::LaunchShape &shape,
                      std::array<Expr, 3> grid, llvm::StringRef note, llvm::StringRef body);

private:
  using Body = llvm::function_ref<mlir::Value(KernelBuilder &k, mlir::ValueRange parameters)>;
  /// Declares a functor for f32 and returns the text that constructs it.
  std::string functor(llvm::StringRef name, Body body);

  mlir::PassManager &passes;
  std::string includes, declarations;
};

} // namespace kiln

#endif // KILN_TARGET_CUDA_TEMPLATE_H
