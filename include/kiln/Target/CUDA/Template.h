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
                 const cuda::DeviceFacts &device, bool mayRoundToTf32, mlir::PassManager &passes)
      : kernel(kernel), anchor(anchor), table(table), device(device),
        mayRoundToTf32(mayRoundToTf32), passes(passes) {}

  plan::KernelOp kernel;
  mlir::Operation *const anchor;
  const KernelTable &table;
  const cuda::DeviceFacts &device;
  /// Operands of products in f32 may lose all but 10 bits of their fraction.
  const bool mayRoundToTf32;

  //===-- The fusion ------------------------------------------------------===//

  /// The op of rows in front of the anchor whose rows it reads, which only a whole
  /// row at once can make; null as a rule.
  mlir::Operation *rowsBefore() const;
  /// The name of the argument that an anchor's operand is, when it lies in
  /// memory as it is; else "".
  std::string inputOf(mlir::Value operand) const;
  /// The fusion has one result, of the anchor's shape and of this type.
  bool yieldsOne(mlir::Type elementType);
  /// The same of any type, behind an anchor that computes floats of 16 or 32 bits.
  bool yieldsOne();
  /// The C++ type in memory of what the fusion yields.
  std::string resultType();
  /// A size as a number: the exact one, or a guess where only the run knows.
  static int64_t guess(const Expr &size);
  /// How many elements of lines of this length move at once.
  static int vectorOf(const Expr &line, int elementBytes = 4);
  /// The index over `dims` of a place that counts them row by row.
  static Index indexOf(ElementBuilder &e, mlir::Value place, llvm::ArrayRef<Expr> dims);

  //===-- Text ------------------------------------------------------------===//

  /// A size over the kernel's symbols in C++, an int64_t.
  static std::string sizeText(const Expr &size);
  /// A functor `name` with `R operator()(float value, long row, long col) const`, R
  /// being resultType(): what the fusion makes of `value` at the anchor's result.
  /// `place` turns row and column into the result's index. Returns the text that
  /// constructs one; "" when it has no form.
  using Place = llvm::function_ref<Index(ElementBuilder &e, mlir::Value row, mlir::Value col)>;
  std::string epilogue(llvm::StringRef name, Place place);
  /// How a template reads an operand of floats that is a matrix to it: `input`, a
  /// pointer to elements of `element`, and a prologue (Common/Functors.cuh) of
  /// this type and construction.
  struct Prologue {
    std::string input, element, functor, type;
    /// Neighbours of a row that one load takes, besides what the length of a row
    /// of the matrix says (vectorOf).
    int vector = 1;
  };
  /// `along`: the dim that rows of the matrix run along; -1: the last.
  std::optional<Prologue> prologue(llvm::StringRef name, mlir::Value operand, Place place,
                                   int64_t along = -1);
  /// An operand of floats that reshapes, transposes and slices make of an input: its
  /// element at `offset` and strides, and how many neighbours one load takes.
  struct View {
    mlir::BlockArgument input;
    std::string element;
    Shape strides;
    Expr offset;
    int vector;
  };
  std::optional<View> viewOf(mlir::Value operand, int64_t along = -1) const;
  /// A functor `name` with `float operator()(long row, long col) const` that computes
  /// an operand's elements; text as above.
  std::string elementFunctor(llvm::StringRef name, mlir::Value operand, Place place);
  /// A functor `name` with `float operator()(float value, long row, long col) const`.
  using Change = llvm::function_ref<mlir::Value(ElementBuilder &e, mlir::Value value,
                                                mlir::Value row, mlir::Value col)>;
  std::string valueFunctor(llvm::StringRef name, Change change);
  /// A functor `name` with `long operator()(long at) const`; text as above.
  std::string indexFunctor(llvm::StringRef name,
                           llvm::function_ref<mlir::Value(ElementBuilder &e, mlir::Value at)> body);
  /// Includes a header of Kernels/.
  void include(llvm::StringRef header);
  /// A declaration in front of the kernel.
  void declare(const llvm::Twine &text) { declarations += text.str() + "\n"; }
  /// Declares `Shape`, an instance of a template of configurations, of a type of
  /// elements where that is the template's first parameter.
  void declareShape(llvm::StringRef shapeTemplate, llvm::ArrayRef<int> parameters,
                    llvm::StringRef elementType = "");

  /// A functor with one method `T operator()(parameters) const`, whose code is what
  /// `body` computes from the parameters; nothing when it has no form.
  struct Parameter {
    mlir::Type type;
    std::string name;
  };
  using Body = llvm::function_ref<mlir::Value(KernelBuilder &k, mlir::ValueRange parameters)>;
  /// Another method than that, where members are not empty. With `base` it gives the
  /// address of element `body` of that input.
  struct Method {
    std::string result, name;
    mlir::BlockArgument base;
    /// Leaves out parameters that the code does not look at.
    bool onlyUsed;
  };
  struct FreeFunctor {
    /// The text that declares it, and the one that constructs it.
    std::string declaration, value;
    /// Whether it looks at each parameter.
    llvm::SmallVector<bool> uses;
    double operations = 0;
  };
  std::optional<FreeFunctor> freeFunctor(llvm::StringRef name, llvm::ArrayRef<Parameter> parameters,
                                         Body body, const Method &method = {});

  /// The kernel: `body` is its statements, `grid` its blocks. `note`: how the
  /// configuration was chosen.
  DeviceKernel finish(llvm::StringRef algorithm, const cuda::LaunchShape &shape,
                      std::array<Expr, 3> grid, llvm::StringRef note, llvm::StringRef body);

private:
  /// Declares a functor with one method, `result` `method`(parameters), and returns
  /// the text that constructs it. With `base` the method gives the address of
  /// element `body` of that input.
  std::string functor(llvm::StringRef name, llvm::StringRef result, llvm::StringRef method,
                      llvm::ArrayRef<Parameter> parameters, Body body,
                      mlir::BlockArgument base = {});
  llvm::SmallVector<Parameter, 3> valueAndPlace();

  mlir::PassManager &passes;
  std::string includes, declarations;
};

} // namespace kiln

#endif // KILN_TARGET_CUDA_TEMPLATE_H
