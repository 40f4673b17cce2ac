//===- ProveBatch.cpp - Proves that rows of a batch stay apart ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchRules.h"
#include "PassDetail.h"
#include "dialects/Kiln/IR/ModelAttributes.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"

using namespace mlir;
using namespace kiln;

namespace {
/// Follows the rows from the inputs of a function to its results.
class Proof {
public:
  Proof(const KernelTable &kernels, StringRef symbol)
      : kernels(kernels), batch(Expr::symbol(symbol)) {
    scratch.batch = batch;
  }

  /// Fills `axes`, or tells the obstacle.
  void run(func::FuncOp main);

  /// Of each input, then each result: the axis of the batch, -1 without.
  SmallVector<int32_t> axes;
  std::string obstacle;

private:
  bool mentionsBatch(ArrayRef<Expr> exprs) const { return scratch.mentionsBatch(exprs); }
  bool attributesMentionBatch(Operation *op) const;
  Rows ofInput(Type type) const;
  /// Whether the sizes of a tensor are as its rows say.
  bool fits(Type type, const Rows &rows) const;
  StringRef visit(Operation *op);
  StringRef visitPure(Operation *op, SmallVector<Rows> &results);
  void giveUp(Operation *op, StringRef why);

  const KernelTable &kernels;
  BatchRuleTable rules;
  Expr batch;
  BatchStep scratch = {};
  DenseMap<Value, Rows> rowsOf;
  /// What the rows of a Lost value are lost to.
  DenseMap<Value, std::pair<Operation *, StringRef>> lostTo;
};

struct ProveBatch final : kiln::impl::ProveBatchPassBase<ProveBatch> {
  explicit ProveBatch(const KernelTable &kernels, StringRef dim) : kernels(kernels) {
    if (!dim.empty())
      batchDim = dim.str();
  }
  ProveBatch(const ProveBatch &other) : ProveBatchPassBase(other), kernels(other.kernels) {}

  void runOnOperation() override;

  const KernelTable &kernels;
};
} // namespace

bool BatchStep::mentionsBatch(const Expr &expr) const {
  bool found = false;
  expr.forEachSymbol([&](StringRef name) { found |= name == batch.symbolName(); });
  return found;
}

Expr BatchStep::bounded(const Expr &expr) const {
  constexpr int64_t mostRows = 65536;
  Expr sum;
  for (const Expr::Term &term : expr.terms()) {
    Expr product(term.coefficient);
    for (const auto &atom : term.atoms) {
      Expr a = bounded(atom->lhs), b = bounded(atom->rhs);
      auto isClamp = [&](const Expr &limit, const Expr &value) {
        return value == batch && limit.constant().value_or(0) >= mostRows;
      };
      switch (atom->kind) {
      case Expr::Kind::Symbol:
        product = product * Expr::symbol(atom->name);
        break;
      case Expr::Kind::FloorDiv:
        product = product * Expr::floorDiv(a, b);
        break;
      case Expr::Kind::CeilDiv:
        product = product * Expr::ceilDiv(a, b);
        break;
      case Expr::Kind::Mod:
        product = product * Expr::mod(a, b);
        break;
      case Expr::Kind::Min:
        product = product * (isClamp(a, b) || isClamp(b, a) ? batch : Expr::min(a, b));
        break;
      case Expr::Kind::Max:
        product = product * Expr::max(a, b);
        break;
      case Expr::Kind::Bcast:
        product = product * Expr::bcast(a, b);
        break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

bool Proof::attributesMentionBatch(Operation *op) const {
  return llvm::any_of(op->getAttrs(), [&](NamedAttribute attr) {
    auto exprs = dyn_cast<ExprsAttr>(attr.getValue());
    return exprs && mentionsBatch(scratch.exprsOf(exprs));
  });
}

Rows Proof::ofInput(Type type) const {
  Shape shape = scratch.shapeOf(type);
  auto at = llvm::find(shape, batch);
  return at == shape.end() ? Rows() : Rows::kept(at - shape.begin());
}

bool Proof::fits(Type type, const Rows &rows) const {
  Shape shape = scratch.shapeOf(type);
  if (rows.isKept()) {
    Expr &dim = shape[static_cast<size_t>(rows.axis)];
    auto outer = Expr::divideExactly(dim, batch * rows.inner);
    if (!outer || mentionsBatch(*outer) || mentionsBatch(rows.inner))
      return false;
    dim = 1;
  }
  return !mentionsBatch(shape);
}

StringRef Proof::visitPure(Operation *op, SmallVector<Rows> &results) {
  BatchStep step;
  step.op = op;
  step.batch = batch;
  bool isShared = true;
  for (Value operand : op->getOperands()) {
    step.operands.push_back(rowsOf.at(operand));
    isShared &= step.operands.back().isShared();
  }
  const BatchRuleTable::Entry *entry = rules.find(op);
  const OpKernels *kernel = kernels.find(op);
  bool mentions = attributesMentionBatch(op);
  results.assign(op->getNumResults(), Rows());
  if (isShared && !mentions)
    return "";
  if (mentions && !(entry && entry->readsSizes))
    return "uses the size of the batch as a number";
  BatchRule rule = entry                         ? entry->rule
                   : kernel && kernel->pointwise ? &BatchRuleTable::pointwise
                                                 : nullptr;
  if (!rule)
    return "may mix rows of the batch";
  StringRef why = rule(step);
  if (why.empty())
    results = step.results;
  return why;
}

void Proof::giveUp(Operation *op, StringRef why) {
  llvm::raw_string_ostream os(obstacle);
  os << op->getName().stripDialect();
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    os << " of node '" << name.getName().getValue() << "'";
  os << " " << why;
}

StringRef Proof::visit(Operation *op) {
  for (Value operand : op->getOperands())
    if (rowsOf.at(operand).kind == Rows::Kind::Lost) {
      for (Value result : op->getResults()) {
        rowsOf[result].kind = Rows::Kind::Lost;
        lostTo[result] = lostTo.at(operand);
      }
      return "";
    }
  if (!isMemoryEffectFree(op) || op->getNumRegions())
    return "may mix rows of the batch";
  SmallVector<Rows> results;
  StringRef why = visitPure(op, results);
  for (auto [result, rows] : llvm::zip(op->getResults(), results)) {
    if (why.empty() && !fits(result.getType(), rows))
      why = "has sizes that are no multiple of the batch";
    rowsOf[result] = rows;
  }
  if (!why.empty())
    for (Value result : op->getResults()) {
      rowsOf[result].kind = Rows::Kind::Lost;
      lostTo[result] = {op, why};
    }
  return "";
}

void Proof::run(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments()) {
    Rows rows = ofInput(argument.getType());
    axes.push_back(rows.isKept() ? static_cast<int32_t>(rows.axis) : -1);
    rowsOf[argument] = rows;
    if (!fits(argument.getType(), rows)) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttr);
      obstacle = "input '" + (name ? name.str() : "?") + "' has the batch dimension twice";
      return;
    }
  }
  auto refuseLost = [&](Value value) {
    if (rowsOf.at(value).kind != Rows::Kind::Lost)
      return false;
    auto [op, why] = lostTo.at(value);
    giveUp(op, why);
    return true;
  };
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (auto bind = dyn_cast<BindOp>(op)) {
      // Its tensor has static sizes, so it is shared or lost; in this case sizes
      // would depend on what the requests of a batch hold.
      if (refuseLost(bind.getTensor()))
        return;
    } else if (isa<RequireOp>(op)) {
      // It can stop a run, never change its values; and requests whose batch was
      // stopped run alone.
      continue;
    } else if (StringRef why = visit(&op); !why.empty()) {
      return giveUp(&op, why);
    }
  }
  Operation *terminator = main.getBody().front().getTerminator();
  for (OpOperand &result : terminator->getOpOperands()) {
    if (refuseLost(result.get()))
      return;
    const Rows &rows = rowsOf.at(result.get());
    // A request's part must be one range of the axis.
    if (rows.isKept() &&
        scratch.shapeOf(result.get())[static_cast<size_t>(rows.axis)] != batch * rows.inner) {
      auto name = main.getResultAttrOfType<StringAttr>(result.getOperandNumber(), nameAttr);
      obstacle = "output '" + (name ? name.str() : "?") + "' does not have its rows in one piece";
      return;
    }
    axes.push_back(rows.isKept() ? static_cast<int32_t>(rows.axis) : -1);
  }
  if (llvm::all_of(ArrayRef(axes).take_front(main.getNumArguments()),
                   [](int32_t axis) { return axis < 0; }))
    obstacle = "no input has the batch dimension";
}

void ProveBatch::runOnOperation() {
  ModuleOp module = getOperation();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto symbols = module->getAttrOfType<ArrayAttr>(symbolsAttr);
  auto names = module->getAttrOfType<ArrayAttr>(symbolNamesAttr);
  if (!main || !symbols || !names)
    return;
  for (auto [symbol, name] : llvm::zip(symbols, names)) {
    if (cast<StringAttr>(name).getValue() != batchDim)
      continue;
    Proof proof(kernels, cast<StringAttr>(symbol).getValue());
    proof.run(main);
    Builder b(&getContext());
    if (proof.obstacle.empty())
      module->setAttr(batchAxesAttr, b.getDenseI32ArrayAttr(proof.axes));
    else
      module->setAttr(batchObstacleAttr, b.getStringAttr(proof.obstacle));
  }
}

std::unique_ptr<Pass> kiln::createProveBatchPass(const KernelTable &table, StringRef batchDim) {
  return std::make_unique<ProveBatch>(table, batchDim);
}
