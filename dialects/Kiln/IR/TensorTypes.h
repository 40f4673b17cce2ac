//===- TensorTypes.h - Symbolic shapes of tensor types ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What op families use to read and make tensor types, and to build ops whose
// inference may fail on a user's model (a failure is a diagnostic, not an
// abort).
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_TENSORTYPES_H
#define KILN_DIALECTS_KILN_IR_TENSORTYPES_H

#include "dialects/Kiln/IR/KilnDialect.h"
#include "mlir/IR/Builders.h"

namespace kiln {

using Shape = llvm::SmallVector<Expr, 6>;

/// Dimensions of a ranked tensor, outermost first.
Shape shapeOf(mlir::Type type);
inline Shape shapeOf(mlir::Value value) { return shapeOf(value.getType()); }
inline int64_t rankOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank();
}
inline mlir::Type elementTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// Bits and bytes of one element in memory. Nothing is packed: types of less
/// than 8 bits, bool among them, take a byte.
inline unsigned storageBits(mlir::Type elementType) {
  return std::max(elementType.getIntOrFloatBitWidth(), 8u);
}
inline int64_t elementBytes(mlir::Type elementType) { return storageBits(elementType) / 8; }

/// Floats of 8 bits and fewer, which are stored and converted, never computed
/// with.
inline bool isSmallFloat(mlir::Type elementType) {
  return llvm::isa<mlir::FloatType>(elementType) && elementType.getIntOrFloatBitWidth() <= 8;
}

/// The tensor type with these dims; constant expressions become static dims.
mlir::RankedTensorType tensorType(llvm::ArrayRef<Expr> shape, mlir::Type elementType);

ExprsAttr exprsAttr(mlir::MLIRContext *context, llvm::ArrayRef<Expr> exprs);
Shape exprsOf(ExprsAttr attr);

/// Product of the dims; 1 for rank 0.
Expr elementCount(llvm::ArrayRef<Expr> shape);

/// NumPy's rule, right-aligned. Fails only when two known sizes clash; sizes
/// that may or may not agree give bcast(a, b).
mlir::FailureOr<Shape> broadcastShapes(llvm::ArrayRef<Expr> a, llvm::ArrayRef<Expr> b);

/// Fails, reported as (C1), unless `axis` is in [0, rank). Accessors of integer
/// attributes are unsigned; a person wrote a signed number.
mlir::LogicalResult checkAxis(std::optional<mlir::Location> loc, uint64_t axis, size_t rank);

/// Some size is known to be below 0. A type of such a size must not be made.
bool anyNegative(llvm::ArrayRef<Expr> sizes);

/// Axis in [-rank, rank) made non-negative; nothing when it is out of range.
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// The one number that all elements of a constant are (kiln.constant with a
/// splat); exact for floats and for integers up to 2^53.
std::optional<double> splatOf(mlir::Value value);

/// How many operands an op has; no limit where its last ones are variadic.
struct OperandCount {
  size_t least;
  std::optional<size_t> most;

  bool takes(size_t count) const { return count >= least && (!most || count <= *most); }
};
OperandCount operandCountOf(mlir::OperationName name);

/// Builds an op whose result types are inferred, and verifies it. On failure
/// the reason has been reported at `loc` and nothing was inserted.
mlir::FailureOr<mlir::Operation *> tryBuild(mlir::OpBuilder &b, mlir::Location loc,
                                            llvm::StringRef opName, mlir::ValueRange operands,
                                            llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

template <typename OpTy>
mlir::FailureOr<OpTy> tryBuild(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  auto op = tryBuild(b, loc, OpTy::getOperationName(), operands, attributes);
  if (mlir::failed(op))
    return mlir::failure();
  return llvm::cast<OpTy>(*op);
}

/// Element index of `operand` (row-major) that a broadcast of it to
/// `resultShape` reads for result element `flat`; all sizes constant.
int64_t broadcastIndex(llvm::ArrayRef<int64_t> operandShape, llvm::ArrayRef<int64_t> resultShape,
                       int64_t flat);

} // namespace kiln

#endif // KILN_DIALECTS_KILN_IR_TENSORTYPES_H
