//===- ElementBuilder.h - One element of a tensor as code -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels pull: they ask for the element of a value at an index, and the op
// that makes the value says how to compute it from elements of its operands.
//
// The builder works on `lanes` neighbouring elements at once when lanes > 1.
// An index is an `index` value that holds lane 0's coordinate; it is *uniform*
// (the same in all lanes) or *consecutive* (lane l has value + l). Or it is a
// vector of `index`, one coordinate a lane: *scattered*. `element` takes a
// scattered index apart and pulls lane by lane, so ops never see one. Elements
// are scalars when all indices are uniform and vectors otherwise; `splat`
// makes the two meet. An op that cannot work on lanes calls `giveUp`, and the
// kernel is built again with lanes == 1: correct code first, lanes where they
// come easily.
//
// Element types in code: integers are signless of the tensor's width (the
// tensor type keeps the sign; see isUnsigned), bool is i1, floats as they are,
// but for those of 8 bits and fewer: these are i8, and `convert` knows them.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_ELEMENTBUILDER_H
#define KILN_CODEGEN_ELEMENTBUILDER_H

#include "dialects/Kiln/IR/TensorTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace kiln {

class KernelTable;

/// How a value of the fusion region lies in memory: a flat buffer.
struct Buffer {
  mlir::Value memref;                   // memref<?xT>, bool stored as i8
  mlir::Type elementType;               // of the tensor
  llvm::SmallVector<mlir::Value> sizes; // index values, outermost first
};

using Index = llvm::SmallVector<mlir::Value, 6>;

class ElementBuilder {
public:
  ElementBuilder(mlir::OpBuilder &b, mlir::Location loc, const KernelTable &table,
                 int64_t lanes = 1)
      : b(b), loc(loc), lanes(lanes), table(table) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  const int64_t lanes;

  //===-- Elements --------------------------------------------------------===//

  /// The element (or lanes) of `tensor` at `index`, one value a dim.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index);
  /// The same when `tensor` is broadcast to the shape that `index` walks:
  /// right-aligned, dims of size 1 read 0.
  mlir::Value broadcastElement(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index,
                               llvm::ArrayRef<Expr> indexShape);
  /// Where block arguments of the region lie.
  void setBuffer(mlir::Value tensor, Buffer buffer) { buffers[tensor] = std::move(buffer); }
  const Buffer *bufferOf(mlir::Value tensor) const;
  /// Elements given by a function rather than memory (an epilogue's input is
  /// the accumulator in registers).
  using Source = std::function<mlir::Value(ElementBuilder &, llvm::ArrayRef<mlir::Value>)>;
  void setSource(mlir::Value tensor, Source source) { sources[tensor] = std::move(source); }
  /// Forgets elements already computed: call when entering code that the old
  /// ones do not dominate.
  void forgetElements() { memo.clear(); }
  /// The same buffers and symbols with another number of lanes, for an op that
  /// takes lanes apart. Values that depend on `sources` are out of its reach.
  ElementBuilder withLanes(int64_t other) const;
  /// Calls `scalar` once a lane, with that lane's index and a builder of one
  /// lane, and puts the elements together.
  mlir::Value eachLane(
      llvm::ArrayRef<mlir::Value> index,
      llvm::function_ref<mlir::Value(ElementBuilder &e, llvm::ArrayRef<mlir::Value> at)> scalar);
  /// A loop over [lower, upper) with carried elements (at least one); what
  /// `body` returns must have the types of `init`.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iv, mlir::ValueRange carried)>
           body);
  /// Stores an element, or its lanes along a consecutive last index.
  void store(mlir::Value element, const Buffer &buffer, llvm::ArrayRef<mlir::Value> index);
  mlir::Value load(const Buffer &buffer, llvm::ArrayRef<mlir::Value> index);

  //===-- Sizes and indices -----------------------------------------------===//

  void setSymbol(llvm::StringRef name, mlir::Value index) { symbols[name] = index; }
  /// A size as an index value.
  mlir::Value size(const Expr &expr);
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  /// Signed; keeps "consecutive" only where that is still true.
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// Of non-negative numbers; gives up on a consecutive index (a scattered one
  /// is divided lane by lane).
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  /// A coordinate a lane, whatever the index is (itself when lanes == 1).
  mlir::Value scattered(mlir::Value index);
  /// Signed bounds; a consecutive index becomes scattered.
  mlir::Value minIndex(mlir::Value a, mlir::Value b);
  mlir::Value maxIndex(mlir::Value a, mlir::Value b);
  /// condition ? a : b for indices; scattered unless all are uniform.
  mlir::Value selectIndex(mlir::Value condition, mlir::Value a, mlir::Value b);
  void setConsecutive(mlir::Value index) { consecutive.insert(index); }
  bool isConsecutive(mlir::Value index) const { return consecutive.contains(index); }
  /// An integer element (data) as an index, a vector as a scattered one.
  /// Negative values stay negative.
  mlir::Value toIndex(mlir::Value element, mlir::Type elementType);
  /// An element of an index operand as a place in [0, dim): negative ones count
  /// from the end. What is out of range is moved inside, so that no index in
  /// the data makes a kernel read elsewhere.
  mlir::Value toPlace(mlir::Value element, mlir::Type elementType, const Expr &dim);
  /// The index as an element of an integer or float type (iota on lanes).
  mlir::Value fromIndex(mlir::Value index, mlir::Type elementType);

  /// Row-major position of `index` in `sizes`, and back.
  mlir::Value linearize(llvm::ArrayRef<mlir::Value> index, llvm::ArrayRef<mlir::Value> sizes);
  Index delinearize(mlir::Value position, llvm::ArrayRef<mlir::Value> sizes);

  //===-- Arithmetic on elements ------------------------------------------===//

  /// The type that an element of this tensor element type has in code: the
  /// signless integer for ui8 and so on.
  mlir::Type codeType(mlir::Type elementType) const;
  mlir::Value constant(mlir::Type elementType, double value);
  mlir::Value intConstant(mlir::Type elementType, int64_t value);
  /// Makes all values vectors when one is.
  void unify(llvm::MutableArrayRef<mlir::Value> values);
  mlir::Value splat(mlir::Value element);
  /// Converts between element types with ONNX Cast's meaning. `saturate` is
  /// about small floats (isSmallFloat), as in TensorData::setFloat.
  mlir::Value convert(mlir::Value element, mlir::Type from, mlir::Type to, bool saturate = true);
  /// Widens f16 and bf16 to f32 for computing; other types as they are.
  mlir::Value widen(mlir::Value element);
  mlir::Value narrow(mlir::Value element, mlir::Type elementType);
  /// Whether a < b and whether a == b, in an order that has a place for every
  /// element: NaN is larger than any number and equal to itself.
  std::pair<mlir::Value, mlir::Value> compareTotally(mlir::Value a, mlir::Value b,
                                                     mlir::Type elementType);
  /// condition ? a : b, with lanes unified.
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Compares indices; on lanes gives a vector of i1 when one is consecutive.
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  /// `then` where the condition holds, else `otherwise`, evaluating only what
  /// is taken (loads out of bounds stay out). Gives up on vector conditions.
  mlir::Value branch(mlir::Value condition, llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise);

  /// This op cannot be computed on lanes. Returns a value that keeps building
  /// going; the kernel is thrown away.
  mlir::Value giveUp(mlir::Type elementType);
  bool gaveUp() const { return failed; }

private:
  const KernelTable &table;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, Source> sources;
  llvm::StringMap<mlir::Value> symbols;
  llvm::DenseSet<mlir::Value> consecutive;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<Index, mlir::Value>, 1>> memo;
  bool failed = false;

  mlir::Value splatConstant(mlir::ElementsAttr constant);
  /// Makes both scattered when one is.
  std::pair<mlir::Value, mlir::Value> unifyIndices(mlir::Value a, mlir::Value b);
};

/// `scalar`, or a vector of it with the lanes that `like` has.
inline mlir::Type withLanesOf(mlir::Value like, mlir::Type scalar) {
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(like.getType()))
    return mlir::VectorType::get(vector.getShape(), scalar);
  return scalar;
}

inline bool isUnsigned(mlir::Type elementType) {
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

} // namespace kiln

#endif // KILN_CODEGEN_ELEMENTBUILDER_H
