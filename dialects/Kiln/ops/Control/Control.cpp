//===- Control.cpp - Branches and loops -----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Control/Control.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

static ValueRange yieldedBy(Region &region) {
  return region.front().getTerminator()->getOperands();
}

static bool isIn(const Expr &size, ArrayAttr symbols) {
  return !size.symbolName().empty() && llvm::any_of(symbols, [&](Attribute name) {
    return cast<StringAttr>(name).getValue() == size.symbolName();
  });
}

static bool sameKind(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getRank() == y.getRank() && x.getElementType() == y.getElementType();
}

/// Whether every size of `whole` is that of `part` or a symbol of `symbols`.
static bool sizesAgree(ArrayRef<Expr> whole, ArrayRef<Expr> part, ArrayAttr symbols) {
  return llvm::all_of(llvm::zip_equal(whole, part), [&](auto pair) {
    auto [size, other] = pair;
    return size == other || isIn(size, symbols);
  });
}

namespace {
/// Collects what each symbol stands for, where it is first met.
class SymbolFinder {
public:
  explicit SymbolFinder(ArrayAttr symbols) : symbols(symbols), found(symbols.size()) {}

  void note(const Expr &size, const Expr &first, const Expr &second) {
    for (auto [name, symbol] : llvm::zip_equal(symbols.getAsRange<StringAttr>(), found))
      if (!symbol && size.symbolName() == name.getValue())
        symbol = ControlSymbol{name, first, second};
  }
  SmallVector<ControlSymbol> take() {
    SmallVector<ControlSymbol> result;
    for (const auto &symbol : found)
      if (symbol)
        result.push_back(*symbol);
    return result;
  }

private:
  ArrayAttr symbols;
  SmallVector<std::optional<ControlSymbol>> found;
};
} // namespace

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void writeSymbols(ArrayAttr symbols, Effects &effects) {
  if (!symbols.empty())
    effects.emplace_back(MemoryEffects::Write::get());
}

void IfOp::getEffects(Effects &effects) { writeSymbols(getSymbols(), effects); }
void LoopOp::getEffects(Effects &effects) { writeSymbols(getSymbols(), effects); }

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

SmallVector<ControlSymbol> kiln::controlSymbols(IfOp op) {
  SymbolFinder finder(op.getSymbols());
  for (auto [result, then, otherwise] :
       llvm::zip(op.getOutputs(), yieldedBy(op.getThenRegion()), yieldedBy(op.getElseRegion())))
    for (auto [size, first, second] :
         llvm::zip_equal(shapeOf(result), shapeOf(then), shapeOf(otherwise)))
      finder.note(size, first, second);
  return finder.take();
}

LogicalResult IfOp::verify() {
  for (Region *region : {&getThenRegion(), &getElseRegion()}) {
    ValueRange yielded = yieldedBy(*region);
    if (yielded.size() != getNumResults())
      return emitOpError("(C1) a branch yields ")
             << yielded.size() << " values for " << getNumResults() << " results";
    for (auto [result, value] : llvm::zip_equal(getOutputs(), yielded)) {
      if (!sameKind(result.getType(), value.getType()))
        return emitOpError("(C1) a branch yields ")
               << value.getType() << " for a result of " << result.getType();
      if (!sizesAgree(shapeOf(result), shapeOf(value), getSymbols()))
        return emitOpError("(C2) ") << result.getType() << " is not a branch's " << value.getType();
    }
  }
  if (controlSymbols(*this).size() != getSymbols().size())
    return emitOpError("(C3) a symbol is no size of a result");
  return success();
}

/// A branch that is certain takes the op's place. Sizes that were its symbols
/// stay as they are in the types of those that read the results, so the branch
/// must not have any.
LogicalResult IfOp::canonicalize(IfOp op, PatternRewriter &rewriter) {
  DenseElementsAttr condition;
  if (!op.getSymbols().empty() || !matchPattern(op.getCondition(), m_Constant(&condition)))
    return failure();
  Region &region =
      condition.getSplatValue<APInt>().isZero() ? op.getElseRegion() : op.getThenRegion();
  Operation *end = region.front().getTerminator();
  SmallVector<Value> values(end->getOperands());
  rewriter.eraseOp(end);
  rewriter.inlineBlockBefore(&region.front(), op);
  rewriter.replaceOp(op, values);
  return success();
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

static OperandRange yielded(LoopOp op) {
  return op.getBody().front().getTerminator()->getOperands();
}

Value LoopOp::getGoOn() { return getConditional() ? yielded(*this)[0] : Value(); }

OperandRange LoopOp::getNext() {
  return yielded(*this).drop_front(getConditional()).take_front(getInits().size());
}

OperandRange LoopOp::getElements() {
  return yielded(*this).drop_front(getConditional()).drop_front(getInits().size());
}

SmallVector<ControlSymbol> kiln::controlSymbols(LoopOp op) {
  SymbolFinder finder(op.getSymbols());
  for (auto [result, init, next] : llvm::zip(op.getOutputs(), op.getInits(), op.getNext()))
    for (auto [size, first, second] :
         llvm::zip_equal(shapeOf(result), shapeOf(init), shapeOf(next)))
      finder.note(size, first, second);
  for (auto [stack, element] : llvm::zip_equal(op.getStacks(), op.getElements())) {
    Shape shape = shapeOf(stack);
    finder.note(shape[0], 0, Expr::symbol(op.getIteration()) + Expr(1));
    for (auto [size, second] : llvm::zip_equal(ArrayRef(shape).drop_front(), shapeOf(element)))
      finder.note(size, 0, second);
  }
  return finder.take();
}

LogicalResult LoopOp::verify() {
  Block &block = getBody().front();
  if (getTrips().getExprs().size() != 1)
    return emitOpError("has one number of trips, not ") << getTrips().getExprs().size();
  if (block.getNumArguments() != getInits().size() || getNumResults() < getInits().size())
    return emitOpError("(C1) carries ")
           << getInits().size() << " values, but the body has " << block.getNumArguments()
           << " arguments and the op " << getNumResults() << " results";
  if (yielded(*this).size() != getNumResults() + getConditional())
    return emitOpError("(C1) the body yields ")
           << yielded(*this).size() << " values for " << getNumResults() << " results";
  if (Value goOn = getGoOn();
      goOn && goOn.getType() != RankedTensorType::get({}, IntegerType::get(getContext(), 1)))
    return emitOpError("(C1) the first yielded value must be tensor<i1>, not ") << goOn.getType();
  for (auto [init, argument, next, result] :
       llvm::zip(getInits(), block.getArguments(), getNext(), getOutputs())) {
    if (argument.getType() != result.getType())
      return emitOpError("(C2) a carried value is ")
             << argument.getType() << " inside and " << result.getType() << " after";
    for (Value value : {Value(init), Value(next)})
      if (!sameKind(value.getType(), result.getType()) ||
          !sizesAgree(shapeOf(result), shapeOf(value), getSymbols()))
        return emitOpError("(C2) ") << value.getType() << " is carried as " << result.getType();
  }
  for (auto [stack, element] : llvm::zip_equal(getStacks(), getElements())) {
    Shape shape = shapeOf(stack), inner = shapeOf(element);
    if (shape.size() != inner.size() + 1 || elementTypeOf(stack) != elementTypeOf(element) ||
        !sizesAgree(ArrayRef(shape).drop_front(), inner, getSymbols()))
      return emitOpError("(C3) ") << element.getType() << " is stacked as " << stack.getType();
    if (getConditional() ? !isIn(shape[0], getSymbols()) : shape[0] != getTripCount())
      return emitOpError("(C3) '") << shape[0].str() << "' is not the number of iterations";
  }
  if (controlSymbols(*this).size() != getSymbols().size())
    return emitOpError("(C4) a symbol is no size of a result");
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Control/Control.cpp.inc"

namespace kiln {
void registerControlOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerControlOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Control/Control.cpp.inc"
      >();
}
