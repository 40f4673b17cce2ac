//===- CompleteModule.cpp - What authors of rules leave out ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleModule.h"
#include "mlir/Dialect/PDL/IR/PDLTypes.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace kiln;

/// Patterns that one pattern may stand for.
static constexpr unsigned maxVariants = 256;

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static bool isOptionalMark(Operation *op) {
  auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(op);
  return call && call.getName() == "Optional";
}

/// Nothing is asked of the value: either order of operands binds it.
static bool isPlain(Value value) {
  auto operand = value.getDefiningOp<pdl::OperandOp>();
  return operand && !operand.getValueType() && value.hasOneUse();
}

static bool wantsConstant(Value value, const NativeTable &natives) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(user);
    const Native *native = call ? natives.find(call.getName(), false) : nullptr;
    return native && native->wantsConstant && call.getArgs()[0] == value;
  });
}

static bool isCommutative(pdl::OperationOp op) {
  auto name = op.getOpName() ? RegisteredOperationName::lookup(*op.getOpName(), op.getContext())
                             : std::nullopt;
  return name && name->hasTrait<OpTrait::IsCommutative>() && op.getOperandValues().size() == 2;
}

static void swapOperands(pdl::OperationOp op) {
  auto operands = op.getOperandValuesMutable();
  Value first = operands[0].get(), second = operands[1].get();
  operands[0].set(second);
  operands[1].set(first);
}

static bool isSame(Value a, Value b) {
  auto x = a.getDefiningOp<pdl::ResultOp>(), y = b.getDefiningOp<pdl::ResultOp>();
  return a == b || (x && y && x.getParent() == y.getParent() && x.getIndex() == y.getIndex());
}

/// Whether the other order of operands can match where this one does not.
static bool hasTwoOrders(pdl::OperationOp op, const NativeTable &natives) {
  if (!isCommutative(op))
    return false;
  Value first = op.getOperandValues()[0], second = op.getOperandValues()[1];
  return !isSame(first, second) && !(isPlain(first) && isPlain(second)) &&
         !wantsConstant(first, natives) && !wantsConstant(second, natives);
}

/// Graphs are canonical: a constant operand of a commutative op is the right
/// one, unless both are.
static void putConstantsRight(pdl::PatternOp pattern, const NativeTable &natives) {
  for (auto op : pattern.getOps<pdl::OperationOp>())
    if (isCommutative(op) && wantsConstant(op.getOperandValues()[0], natives) &&
        !wantsConstant(op.getOperandValues()[1], natives))
      swapOperands(op);
}

static bool eraseIfUnused(Value value) {
  if (!value.use_empty())
    return false;
  value.getDefiningOp()->erase();
  return true;
}

/// Takes an optional op out of the pattern, its first operand in its place.
static LogicalResult dropOptional(Operation *mark) {
  auto op = mark->getOperand(0).getDefiningOp<pdl::OperationOp>();
  if (!op || op.getOperandValues().empty())
    return mark->emitError("an optional op needs an operand to stand in its place");
  mark->erase();
  Value through = op.getOperandValues()[0];
  for (Operation *user : llvm::make_early_inc_range(op.getOp().getUsers())) {
    if (auto result = dyn_cast<pdl::ResultOp>(user)) {
      for (Operation *reader : llvm::make_early_inc_range(result.getVal().getUsers()))
        // What was asked of the op's result is not asked of its operand.
        if (isa<pdl::ApplyNativeConstraintOp>(reader) && reader->use_empty())
          reader->erase();
      result.getVal().replaceAllUsesWith(through);
      result.erase();
    } else if (isa<pdl::ApplyNativeConstraintOp>(user) && user->use_empty()) {
      user->erase();
    } else {
      return op.emitError("an optional op may not be the root, nor be named in the rewrite");
    }
  }
  SmallVector<Value> others(op->getOperands());
  op.erase();
  for (Value other : others) {
    if (other == through)
      continue;
    if (other.getDefiningOp<pdl::OperandOp>())
      for (Operation *user : llvm::make_early_inc_range(other.getUsers()))
        if (isa<pdl::ApplyNativeConstraintOp>(user) && user->use_empty() &&
            llvm::all_of(other.getUsers(), llvm::IsaPred<pdl::ApplyNativeConstraintOp>))
          user->erase();
    if (isa<pdl::ResultOp, pdl::ResultsOp>(other.getDefiningOp()))
      return emitError(other.getLoc(), "the other operands of an optional op must be values");
    eraseIfUnused(other);
  }
  return success();
}

namespace {
/// Ops of a pattern, as positions that clones share.
struct Choices {
  SmallVector<size_t> optional, ordered;
  size_t bits() const { return optional.size() + ordered.size(); }
};
} // namespace

/// An op that is optional twice is optional.
static void dropRepeatedMarks(pdl::PatternOp pattern) {
  llvm::DenseSet<Value> marked;
  for (Operation &op : llvm::make_early_inc_range(*pattern.getBody()))
    if (isOptionalMark(&op) && !marked.insert(op.getOperand(0)).second)
      op.erase();
}

static Choices choicesOf(pdl::PatternOp pattern, const NativeTable &natives) {
  Choices choices;
  for (auto [i, op] : llvm::enumerate(*pattern.getBody())) {
    if (isOptionalMark(&op))
      choices.optional.push_back(i);
    if (auto operation = dyn_cast<pdl::OperationOp>(op);
        operation && hasTwoOrders(operation, natives))
      choices.ordered.push_back(i);
  }
  return choices;
}

/// The variant with some optional ops dropped and some orders exchanged; null
/// when it is the same as another one.
static FailureOr<pdl::PatternOp> makeVariant(pdl::PatternOp pattern, const Choices &choices,
                                             size_t mask) {
  SmallVector<Operation *> marks;
  llvm::SmallPtrSet<Operation *, 4> dropped;
  auto variant = cast<pdl::PatternOp>(pattern->clone());
  pattern->getBlock()->getOperations().insert(Block::iterator(pattern), variant);
  SmallVector<Operation *> ops(llvm::make_pointer_range(*variant.getBody()));
  for (auto [bit, at] : llvm::enumerate(choices.optional))
    if (mask >> bit & 1) {
      marks.push_back(ops[at]);
      dropped.insert(ops[at]->getOperand(0).getDefiningOp());
    } else {
      if (Operation *op = ops[at]->getOperand(0).getDefiningOp())
        op->setAttr(optionalOpAttr, UnitAttr::get(op->getContext()));
      ops[at]->erase();
    }
  for (auto [bit, at] : llvm::enumerate(choices.ordered))
    if (mask >> (choices.optional.size() + bit) & 1) {
      if (dropped.contains(ops[at])) {
        variant.erase();
        return pdl::PatternOp();
      }
      swapOperands(cast<pdl::OperationOp>(ops[at]));
    }
  for (Operation *mark : marks)
    if (failed(dropOptional(mark)))
      return failure();
  return variant;
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

/// New ops are built by a native: libmlir's own way crashes where inference of
/// types fails or reads properties.
static void buildByNative(pdl::OperationOp op) {
  OpBuilder b(op);
  auto attribute = [&](Attribute value) {
    return pdl::AttributeOp::create(b, op.getLoc(), value).getResult();
  };
  SmallVector<Value> arguments{attribute(op.getOpNameAttr()),
                               attribute(op.getAttributeValueNamesAttr())};
  llvm::append_range(arguments, op.getAttributeValues());
  llvm::append_range(arguments, op.getOperandValues());
  auto call = pdl::ApplyNativeRewriteOp::create(
      b, op.getLoc(), TypeRange(pdl::OperationType::get(b.getContext())), buildNative, arguments);
  op.getOp().replaceAllUsesWith(call.getResult(0));
  op.erase();
}

/// All that changes the graph goes through natives, which refuse what is
/// illegal.
static void changeByNative(Operation *op, StringRef native) {
  OpBuilder b(op);
  pdl::ApplyNativeRewriteOp::create(b, op->getLoc(), TypeRange(), native, op->getOperands());
  op->erase();
}

static void guardRewrite(pdl::RewriteOp rewriter) {
  for (Operation &op : llvm::make_early_inc_range(rewriter.getBodyRegion().front())) {
    if (auto operation = dyn_cast<pdl::OperationOp>(op))
      buildByNative(operation);
    else if (isa<pdl::ReplaceOp>(op))
      changeByNative(&op, replaceNative);
    else if (isa<pdl::EraseOp>(op))
      changeByNative(&op, eraseNative);
  }
}

/// What a constraint gives to the rewrite is computed there again: libmlir loses
/// results of constraints that several patterns share.
static void moveResultsToRewrite(pdl::PatternOp pattern) {
  pdl::RewriteOp rewriter = pattern.getRewriter();
  auto calls = llvm::to_vector(pattern.getOps<pdl::ApplyNativeConstraintOp>());
  for (pdl::ApplyNativeConstraintOp call : calls) {
    auto inRewrite = [&](OpOperand &use) { return rewriter->isAncestor(use.getOwner()); };
    bool isUsed = llvm::any_of(call->getUses(), inRewrite);
    if (isUsed) {
      OpBuilder b = OpBuilder::atBlockBegin(&rewriter.getBodyRegion().front());
      auto again = pdl::ApplyNativeRewriteOp::create(b, call.getLoc(), call.getResultTypes(),
                                                     getNative(call.getName()), call.getArgs());
      call->replaceUsesWithIf(again, inRewrite);
    }
    if (call->getNumResults() == 0 || !call->use_empty())
      continue;
    OpBuilder b(call);
    pdl::ApplyNativeConstraintOp::create(b, call.getLoc(), TypeRange(), holdsNative(call.getName()),
                                         call.getArgs(), call.getIsNegated());
    call.erase();
  }
}

/// Says which rule and which ops a rewrite is about. It also makes the verifier
/// see to it that the ops are connected: lowering crashes where they are not.
static void nameMatch(pdl::PatternOp pattern, StringRef rule, StringRef name, RuleKind kind) {
  SmallVector<Value> ops;
  for (auto op : pattern.getOps<pdl::OperationOp>())
    ops.push_back(op.getOp());
  pdl::RewriteOp rewriter = pattern.getRewriter();
  OpBuilder b = OpBuilder::atBlockBegin(&rewriter.getBodyRegion().front());
  SmallVector<Value> about;
  for (StringRef text : {rule, name})
    about.push_back(
        pdl::AttributeOp::create(b, pattern.getLoc(), b.getStringAttr(text)).getResult());
  about.append(ops);
  if (kind == RuleKind::Algebra) {
    pdl::ApplyNativeRewriteOp::create(b, pattern.getLoc(), TypeRange(), beganNative, about);
    return;
  }
  rewriter.getBodyRegion().walk(
      [&](pdl::ApplyNativeRewriteOp call) { call->insertOperands(call->getNumOperands(), about); });
}

static LogicalResult checkKernelNames(pdl::PatternOp pattern) {
  auto result = pattern->walk([](pdl::ApplyNativeRewriteOp call) {
    if (call.getName() != fuseNative)
      return WalkResult::advance();
    auto attribute = call.getArgs()[1].getDefiningOp<pdl::AttributeOp>();
    if (attribute && isa_and_nonnull<StringAttr>(attribute.getValueAttr()))
      return WalkResult::advance();
    call.emitError("Fuse names a kernel family by a string: attr<\"\\\"matmul\\\"\">");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult kiln::completeModule(ModuleOp pdl, StringRef rule, RuleKind kind,
                                   const NativeTable &natives) {
  unsigned serial = 0;
  for (auto pattern : llvm::make_early_inc_range(pdl.getOps<pdl::PatternOp>())) {
    std::string name =
        pattern.getSymName() ? pattern.getSymName()->str() : "pattern" + std::to_string(serial);
    ++serial;
    if (failed(checkKernelNames(pattern)))
      return failure();
    if (pattern.getBenefit() == 0) {
      // The pattern that explains more ops goes first.
      auto ops = pattern.getOps<pdl::OperationOp>();
      pattern.setBenefit(static_cast<uint16_t>(std::distance(ops.begin(), ops.end())));
    }
    guardRewrite(pattern.getRewriter());
    putConstantsRight(pattern, natives);
    dropRepeatedMarks(pattern);
    Choices choices = choicesOf(pattern, natives);
    if (choices.bits() > 30 || size_t(1) << choices.bits() > maxVariants)
      return pattern.emitError() << "the pattern stands for 2^" << choices.bits()
                                 << " (optional ops, orders of operands); at most " << maxVariants
                                 << " are allowed";
    unsigned variants = 0;
    for (size_t mask = 0; mask < size_t(1) << choices.bits(); ++mask) {
      auto variant = makeVariant(pattern, choices, mask);
      if (failed(variant))
        return failure();
      if (!*variant)
        continue;
      // Without an optional op its attributes are not there.
      if (failed(checkVariables(*variant)))
        return failure();
      // What took the place of an optional op may have several readers.
      normalizeResults(*variant);
      moveResultsToRewrite(*variant);
      variant->setSymName(name + "#" + std::to_string(variants++));
      nameMatch(*variant, rule, name, kind);
    }
    pattern.erase();
  }
  return verify(pdl);
}
