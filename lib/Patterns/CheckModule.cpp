//===- CheckModule.cpp - What libmlir does not check ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleModule.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln/Patterns/Names.h"
#include "mlir/Conversion/PDLToPDLInterp/PDLToPDLInterp.h"
#include "mlir/Dialect/PDL/IR/PDLTypes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <set>

using namespace mlir;
using namespace kiln;

static std::optional<RegisteredOperationName> registered(pdl::OperationOp op) {
  return op.getOpName() ? RegisteredOperationName::lookup(*op.getOpName(), op.getContext())
                        : std::nullopt;
}

void kiln::normalizeResults(Operation *pdl) {
  SmallVector<Operation *> results;
  pdl->walk([&](Operation *op) {
    if (isa<pdl::ResultOp, pdl::ResultsOp>(op))
      results.push_back(op);
  });
  for (Operation *op : results) {
    auto parent = op->getOperand(0).getDefiningOp<pdl::OperationOp>();
    auto name = parent ? registered(parent) : std::nullopt;
    // An op without a name stands for one of several with one result.
    bool hasOne = parent && (!parent.getOpName() || (name && name->hasTrait<OpTrait::OneResult>()));
    auto all = dyn_cast<pdl::ResultsOp>(op);
    bool makesOne = all && hasOne && !all.getIndex();
    SmallVector<OpOperand *> uses(llvm::make_pointer_range(op->getUses()));
    for (OpOperand *use : uses) {
      OpBuilder b(op);
      use->set(makesOne
                   ? pdl::ResultOp::create(b, op->getLoc(), pdl::ValueType::get(b.getContext()),
                                           op->getOperand(0), 0u)
                         .getOperation()
                         ->getResult(0)
                   : b.clone(*op)->getResult(0));
    }
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Natives
//===----------------------------------------------------------------------===//

static char letterOf(Type type) {
  if (isa<pdl::ValueType>(type))
    return PdlKind<Value>::letter;
  if (isa<pdl::OperationType>(type))
    return PdlKind<Operation *>::letter;
  if (isa<pdl::AttributeType>(type))
    return PdlKind<Attribute>::letter;
  if (isa<pdl::TypeType>(type))
    return PdlKind<Type>::letter;
  auto range = dyn_cast<pdl::RangeType>(type);
  return range && isa<pdl::ValueType>(range.getElementType()) ? PdlKind<ValueRange>::letter : 'T';
}

template <typename Types> static std::string lettersOf(Types types) {
  std::string letters;
  for (Type type : types)
    letters += letterOf(type);
  return letters;
}

static std::string describe(StringRef letters) {
  std::string text;
  for (char letter : letters)
    text += (text.empty() ? "" : ", ") + kindName(letter).str();
  return "(" + text + ")";
}

static LogicalResult checkCall(Operation *op, StringRef name, bool isRewrite,
                               const NativeTable &natives) {
  StringRef what = isRewrite ? "rewrite" : "constraint";
  const Native *native = natives.find(name, isRewrite);
  if (!native)
    return op->emitError() << "there is no " << what << " named '" << name << "'"
                           << didYouMean(name, natives.names(isRewrite));
  std::string arguments = lettersOf(op->getOperandTypes());
  std::string results = lettersOf(op->getResultTypes());
  if (arguments != native->arguments || results != native->results)
    return op->emitError() << what << " '" << name << "' is called with " << describe(arguments)
                           << (results.empty() ? "" : " for " + describe(results))
                           << "; it is declared as '" << native->declaration() << "' in kiln.pdll";
  return success();
}

static LogicalResult checkConstraint(pdl::ApplyNativeConstraintOp call,
                                     const NativeTable &natives) {
  if (failed(checkCall(call, call.getName(), false, natives)))
    return failure();
  const Native &native = *natives.find(call.getName(), false);
  if (call.getIsNegated() && (native.isMarker || !call->use_empty()))
    return call.emitError() << "'not' leaves nothing of '" << call.getName() << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult checkName(pdl::OperationOp op) {
  StringRef name = *op.getOpName();
  if (registered(op) && name.starts_with("kiln."))
    return success();
  if (registered(op))
    return op.emitError() << "rules are about ops of Kiln; '" << name << "' is none";
  SmallVector<StringRef> known;
  for (RegisteredOperationName other : op.getContext()->getRegisteredOperations())
    if (other.getDialectNamespace() == "kiln")
      known.push_back(other.getStringRef());
  return op.emitError() << "there is no op named '" << name << "'" << didYouMean(name, known);
}

static LogicalResult checkOperation(pdl::OperationOp op, bool inRewrite) {
  if (!op.getOpName())
    return inRewrite ? op.emitError("a new op needs a name") : success();
  if (failed(checkName(op)))
    return failure();
  RegisteredOperationName name = *registered(op);
  auto operands = op.getOperandValues();
  bool isRange = llvm::any_of(operands.getTypes(), llvm::IsaPred<pdl::RangeType>);
  OperandCount count = operandCountOf(name);
  if (!isRange && !count.takes(operands.size()))
    return op.emitError() << "'" << name.getStringRef() << "' has " << count.least
                          << (count.most ? "" : " or more") << " operands, not " << operands.size();
  auto known = name.getAttributeNames();
  for (Attribute attribute : op.getAttributeValueNames()) {
    StringRef asked = cast<StringAttr>(attribute);
    if (llvm::any_of(known, [&](StringAttr one) { return one == asked; }))
      continue;
    std::string all;
    for (StringAttr one : known)
      all += (all.empty() ? "" : ", ") + one.str();
    return op.emitError() << "'" << name.getStringRef() << "' has no attribute '" << asked
                          << "'; it has " << (all.empty() ? "none" : all);
  }
  if (!inRewrite)
    return success();
  if (!name.hasInterface<InferTypeOpInterface>() ||
      name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    return op.emitError() << "a rule cannot make a '" << name.getStringRef() << "'";
  if (!op.getTypeValues().empty())
    return op.emitError("a new op's types follow from its operands: leave out '-> (...)'");
  return success();
}

LogicalResult kiln::checkModule(ModuleOp pdl, const NativeTable &natives) {
  bool good = true;
  pdl.walk([&](Operation *op) {
    LogicalResult result = success();
    bool inRewrite = op->getParentOfType<pdl::RewriteOp>() != nullptr;
    if (auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(op))
      result = checkConstraint(call, natives);
    else if (auto call = dyn_cast<pdl::ApplyNativeRewriteOp>(op))
      result = checkCall(op, call.getName(), true, natives);
    else if (auto operation = dyn_cast<pdl::OperationOp>(op))
      result = checkOperation(operation, inRewrite);
    else if (auto attribute = dyn_cast<pdl::AttributeOp>(op);
             attribute && isa_and_nonnull<DenseResourceElementsAttr>(attribute.getValueAttr()))
      result = op->emitError("a rule has no resources: write the elements");
    else if (auto rewrite = dyn_cast<pdl::RewriteOp>(op); rewrite && rewrite.getName())
      result = op->emitError("a rule's rewrite is written in the rule");
    good &= succeeded(result);
  });
  return success(good);
}

/// Whether an op of the pattern says what the variable is, or it is a constant.
static bool isBound(Operation *variable) {
  if (auto attribute = dyn_cast<pdl::AttributeOp>(variable); attribute && attribute.getValueAttr())
    return true;
  if (isa<pdl::TypeOp, pdl::TypesOp>(variable) && variable->hasAttr("constantType"))
    return true;
  return llvm::any_of(variable->getUsers(),
                      llvm::IsaPred<pdl::OperationOp, pdl::OperandOp, pdl::OperandsOp>);
}

LogicalResult kiln::checkVariables(pdl::PatternOp pattern) {
  for (Operation &op : *pattern.getBody())
    if (isa<pdl::AttributeOp, pdl::OperandOp, pdl::OperandsOp, pdl::TypeOp, pdl::TypesOp>(op) &&
        !op.use_empty() && !isBound(&op))
      return op.emitError(isa<pdl::AttributeOp>(op)
                              ? "no op of the pattern has this attribute, or its text is none"
                              : "no op of the pattern has this");
  return success();
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static bool isFusion(pdl::PatternOp pattern) {
  bool onlyFuses = true, fuses = false;
  pattern.getRewriter().getBodyRegion().walk([&](Operation *op) {
    auto call = dyn_cast<pdl::ApplyNativeRewriteOp>(op);
    fuses |= call && call.getName() == fuseNative;
    onlyFuses &= (call && call.getName() == fuseNative) || isa<pdl::AttributeOp>(op);
  });
  return fuses && onlyFuses;
}

FailureOr<RuleKind> kiln::classify(ModuleOp pdl) {
  std::optional<RuleKind> kind;
  for (auto pattern : pdl.getOps<pdl::PatternOp>()) {
    RuleKind one = isFusion(pattern) ? RuleKind::Fusion : RuleKind::Algebra;
    bool callsFuse = false;
    pattern.getRewriter().getBodyRegion().walk(
        [&](pdl::ApplyNativeRewriteOp call) { callsFuse |= call.getName() == fuseNative; });
    if (one == RuleKind::Algebra && callsFuse)
      return pattern.emitError("a rewrite that calls Fuse may do nothing else");
    if (kind && *kind != one)
      return pattern.emitError("a file has rules that fuse or rules that rewrite, not both");
    kind = one;
  }
  if (!kind)
    return pdl.emitError("the file has no Pattern");
  return *kind;
}

/// "= 0.5", with the digits that reading it back takes.
static std::string numberNeed(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << "= " << llvm::format("%.17g", number);
  return text;
}

std::vector<std::string> kiln::needsOf(pdl::PatternOp pattern) {
  std::set<std::string> needs;
  for (auto op : pattern.getOps<pdl::OperationOp>()) {
    if (!op.getOpName())
      continue;
    needs.insert(op.getOpName()->str());
    for (auto [name, value] : llvm::zip(op.getAttributeValueNames(), op.getAttributeValues())) {
      auto attribute = value.getDefiningOp<pdl::AttributeOp>();
      if (Attribute wanted = attribute ? attribute.getValueAttr() : nullptr) {
        std::string need;
        llvm::raw_string_ostream(need)
            << *op.getOpName() << "{" << cast<StringAttr>(name).getValue() << " = " << wanted;
        needs.insert(need + "}");
      }
    }
    for (Value operand : op.getOperandValues()) {
      auto result = operand.getDefiningOp<pdl::ResultOp>();
      auto producer = result ? result.getParent().getDefiningOp<pdl::OperationOp>() : nullptr;
      if (producer && producer.getOpName())
        needs.insert((*op.getOpName() + " " + *producer.getOpName()).str());
    }
  }
  for (auto call : pattern.getOps<pdl::ApplyNativeConstraintOp>()) {
    if (call.getName() != splatNative || call.getIsNegated())
      continue;
    auto attribute = call.getArgs()[1].getDefiningOp<pdl::AttributeOp>();
    if (auto number = attribute ? dyn_cast_or_null<FloatAttr>(attribute.getValueAttr()) : nullptr)
      needs.insert(numberNeed(number.getValueAsDouble()));
  }
  return {needs.begin(), needs.end()};
}

std::vector<std::string> kiln::kernelsOf(ModuleOp pdl) {
  std::set<std::string> kernels;
  pdl.walk([&](pdl::ApplyNativeRewriteOp call) {
    if (call.getName() != fuseNative)
      return;
    auto attribute = call.getArgs()[1].getDefiningOp<pdl::AttributeOp>();
    if (auto name = attribute ? dyn_cast_or_null<StringAttr>(attribute.getValueAttr()) : nullptr)
      kernels.insert(name.str());
  });
  return {kernels.begin(), kernels.end()};
}

LogicalResult kiln::lowerToInterp(ModuleOp pdl) {
  PassManager pm(pdl.getContext());
  // It can take seconds on large modules, which were verified before.
  pm.enableVerifier(false);
  pm.addPass(createConvertPDLToPDLInterpPass());
  return pm.run(pdl);
}
