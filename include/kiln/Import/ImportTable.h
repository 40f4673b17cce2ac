//===- ImportTable.h - ONNX operators to kiln ops ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handler turns one ONNX node into kiln ops. It is keyed by operator and the
// opset version since which it is right, so a new opset adds a handler and
// edits none. Handlers see a node through NodeImporter only: no protobuf.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_IMPORTTABLE_H
#define KILN_IMPORT_IMPORTTABLE_H

#include "dialects/Kiln/IR/Relation.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace kiln {

/// The MLIR type of a TensorProto.DataType number, null when Kiln has none for
/// it; and back (0).
mlir::Type elementTypeOfOnnx(mlir::MLIRContext *context, int64_t number);
int64_t onnxNumberOf(mlir::Type elementType);

/// One node being imported: its operands as values, its attributes, and a
/// builder at the right place. Names of attributes are ONNX's.
class NodeImporter {
public:
  NodeImporter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  virtual ~NodeImporter() = default;

  mlir::OpBuilder &b;
  mlir::Location loc;

  virtual llvm::StringRef opType() const = 0;
  /// Version of the operator's schema that the model's opset selects.
  virtual int sinceVersion() const = 0;
  virtual unsigned numInputs() const = 0;
  virtual unsigned numOutputs() const = 0;
  /// Null when the optional input is left out.
  virtual mlir::Value input(unsigned i) const = 0;
  bool hasInput(unsigned i) const { return i < numInputs() && input(i); }
  /// Whether anything may read output i (an unnamed output is not).
  virtual bool outputUsed(unsigned i) const = 0;

  virtual std::optional<int64_t> intAttr(llvm::StringRef name) const = 0;
  virtual std::optional<double> floatAttr(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::StringRef> stringAttr(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<double>> floatsAttr(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<std::string>> stringsAttr(llvm::StringRef name) const = 0;
  virtual mlir::ElementsAttr tensorAttr(llvm::StringRef name) const = 0;
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const {
    return intAttr(name).value_or(otherwise);
  }
  double floatAttr(llvm::StringRef name, double otherwise) const {
    return floatAttr(name).value_or(otherwise);
  }

  /// Elements of integer input i as expressions. Elements that only the run
  /// knows are bound to fresh symbols. Fails (reported) when the number of
  /// elements is not known or above 64.
  virtual mlir::FailureOr<Shape> exprs(unsigned i) = 0;
  /// Elements of a small integer value as far as they are known without reading
  /// it at run time, else nothing.
  virtual std::optional<Shape> knownExprs(mlir::Value value) const = 0;
  /// Elements of a small integer value that is constant now, else nothing.
  std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value value) const;
  /// Binds the elements of a small integer tensor to fresh symbols, which may be
  /// negative.
  virtual Shape bind(mlir::Value tensor, llvm::StringRef hint) = 0;
  /// The same for sizes: the run must see none below 0, which is how a kernel
  /// says that there is no size. `what` names them, for a person.
  virtual Shape bindSizes(mlir::Value tensor, llvm::StringRef hint, const llvm::Twine &what) = 0;
  /// A fresh symbol, never negative, for an op that binds it itself.
  virtual Expr freshSize(llvm::StringRef hint) = 0;
  /// The run must see a == b (or what `relation` says); `text` says what was
  /// expected, for a person. What is known now is checked now.
  virtual void require(const Expr &a, const Expr &b, const llvm::Twine &text,
                       Relation relation = Relation::Equal) = 0;
  /// The run must see a <= b.
  void requireAtMost(const Expr &a, const Expr &b, const llvm::Twine &text) {
    require(a, b, text, Relation::AtMost);
  }
  /// The run must see operands that broadcast.
  void requireBroadcast(mlir::Value a, mlir::Value b);
  /// The run must see integers in [low, high]: `what` names them.
  void requireRange(mlir::Value integers, const Expr &low, const Expr &high,
                    const llvm::Twine &what);
  /// The run must see indices into an axis of `dim` elements, where negative
  /// ones count from the end.
  void requireIndices(mlir::Value indices, const Expr &dim, const llvm::Twine &what) {
    requireRange(indices, Expr(0) - dim, dim - Expr(1), what);
  }
  /// The same for tuples of indices, along the last axis, into axes of `dims`.
  void requireTuples(mlir::Value tuples, llvm::ArrayRef<Expr> dims, const llvm::Twine &what);

  /// Imports the graph that an attribute holds, at the builder's place, with
  /// these values for its inputs: the values of its outputs. Failure has been
  /// reported.
  virtual mlir::FailureOr<llvm::SmallVector<mlir::Value>> importGraph(llvm::StringRef attribute,
                                                                      mlir::ValueRange inputs) = 0;
  /// What becomes of the rest of a graph; see importRest.
  struct Rest {
    /// Of the graph's outputs.
    llvm::SmallVector<mlir::Value> values;
    /// Not empty: with these values the rest breaks an operator's specification,
    /// which has not been reported.
    std::string fault;
  };
  /// Imports the nodes after this one, at the builder's place, as if this node's
  /// outputs were `outputs`. A node may do so more than once, for values of
  /// which it cannot make one; then it says endGraph. Failure has been reported.
  virtual mlir::FailureOr<Rest> importRest(mlir::ValueRange outputs) = 0;
  /// The values of the outputs of the graph that this node stands in: no node
  /// after it is imported.
  virtual void endGraph(mlir::ValueRange outputs) = 0;
  /// Forgets what was learnt of values in a region whose ops are erased.
  virtual void forget(mlir::Region &region) = 0;

  /// The node is valid but not supported (exit 3); `hint` names the nearest
  /// supported form. Both always return failure.
  virtual mlir::LogicalResult refuse(const llvm::Twine &reason, const llvm::Twine &hint = "") = 0;
  /// The model breaks the operator's specification (exit 1).
  virtual mlir::LogicalResult invalid(const llvm::Twine &reason) = 0;

  /// Builds an op with inferred types; null (reported) when inference or
  /// verification fails. A null operand gives null, so calls can be chained
  /// and checked once.
  template <typename OpTy>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return create(OpTy::getOperationName(), operands, attributes);
  }
  /// The same by the op's name, for ops of families that need not be known
  /// here.
  mlir::Value create(llvm::StringRef opName, mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value) {
    return b.getNamedAttr(name, value);
  }
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value) {
    return attr(name, b.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return attr(name, b.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute floatNamed(llvm::StringRef name, double value) {
    return attr(name, b.getF64FloatAttr(value));
  }
  mlir::NamedAttribute exprsNamed(llvm::StringRef name, llvm::ArrayRef<Expr> exprs) {
    return attr(name, mlir::Attribute(exprsAttr(b.getContext(), exprs)));
  }
  mlir::NamedAttribute boolNamed(llvm::StringRef name, bool value) {
    return attr(name, b.getBoolAttr(value));
  }
  mlir::NamedAttribute stringNamed(llvm::StringRef name, llvm::StringRef value) {
    return attr(name, b.getStringAttr(value));
  }

  /// A rank-0 constant of this element type.
  mlir::Value scalar(mlir::Type elementType, double value);
  /// A constant of rank 1 with these int64 elements.
  mlir::Value int64s(llvm::ArrayRef<int64_t> values);
  /// `value` under a new shape of equal element count (kiln.reshape).
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<Expr> shape);
  /// `value` if it has one element; made a scalar, and checked at run time, where
  /// the number of elements is not known; null (reported) when it is another.
  mlir::Value oneElement(mlir::Value value, const llvm::Twine &what);
  /// `value` cast to an element type, itself when it has it.
  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  /// Elements of a constant as doubles, else nothing.
  std::optional<llvm::SmallVector<double>> constantFloats(mlir::Value value) const;
  /// Elements start + i of each axis, `sizes` of them.
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<Expr> starts, llvm::ArrayRef<Expr> sizes);
  /// `value` repeated to this shape, by NumPy's rule.
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<Expr> shape);
  /// `value` with axes permuted.
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
};

/// A list with one number for each axis, to be overwritten for some of them.
struct AxisList {
  Shape &all;
  llvm::ArrayRef<Expr> given;
};
/// Writes what is given for `axes` (negative ones count from the end; the run
/// may decide them) over the lists. Fails (reported) when a known axis is out
/// of range or there twice, or when a list does not fit.
mlir::LogicalResult placeOnAxes(NodeImporter &n, llvm::ArrayRef<Expr> axes,
                                llvm::ArrayRef<AxisList> lists);

/// Fills one value an output (null for an output that nothing reads). Null
/// results that are used, or failure, mean that the reason has been reported.
using ImportHandler = mlir::FailureOr<llvm::SmallVector<mlir::Value>> (*)(NodeImporter &);

class ImportTable {
public:
  /// Operators of other domains are written "domain:Name".
  void add(llvm::StringRef op, int sinceVersion, ImportHandler handler) {
    handlers[op][sinceVersion] = handler;
  }
  /// The handler for an operator whose schema is of `sinceVersion`: the newest
  /// that is not newer.
  ImportHandler find(llvm::StringRef op, int sinceVersion) const;
  bool knows(llvm::StringRef op) const { return handlers.contains(op); }

private:
  llvm::StringMap<std::map<int, ImportHandler>> handlers;
};

/// Asks every op family; generated from the folders.
void registerImporters(ImportTable &table);

} // namespace kiln

#endif // KILN_IMPORT_IMPORTTABLE_H
