//===- Plan.cpp - From fusions to a program of launches -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRegion.h"
#include "PassDetail.h"
#include "dialects/Kiln/IR/ModelAttributes.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "dialects/Kiln/ops/View/View.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

namespace {

class Planner {
public:
  Planner(ModuleOp module, func::FuncOp function, const KernelTable &table,
          const VectorTarget &target)
      : module(module), function(function), table(table), target(target), b(module.getContext()) {}

  LogicalResult run() {
    makeProgram();
    claimOutputs();
    noteSymbolsOfInputs();
    requirements = llvm::to_vector(function.getOps<RequireOp>());
    planRequires();
    bool planned = true;
    for (Operation &op : function.getBody().front().without_terminator())
      planned &= succeeded(plan(&op));
    if (!planned)
      return failure();
    for (RequireOp require : requirements)
      return require.emitOpError("is about a symbol that nothing gives a value");
    copyOutputs();
    function.erase();
    return success();
  }

private:
  void makeProgram() {
    SmallVector<Attribute> inputs, outputs;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputs.push_back(nameOf(function.getArgAttr(i, nameAttr), "input", i));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      outputs.push_back(nameOf(function.getResultAttr(i, nameAttr), "output", i));
    auto strings = [&](StringRef name) {
      auto attr = module->getAttrOfType<ArrayAttr>(name);
      return attr ? attr : b.getArrayAttr({});
    };
    auto ints = [&](StringRef name) {
      auto attr = module->getAttrOfType<DenseI64ArrayAttr>(name);
      return attr ? attr : b.getDenseI64ArrayAttr({});
    };
    b.setInsertionPointToEnd(module.getBody());
    program = plan::ProgramOp::create(b, function.getLoc(), function.getSymName(),
                                      b.getArrayAttr(inputs), b.getArrayAttr(outputs),
                                      b.getTypeArrayAttr(function.getResultTypes()),
                                      strings(symbolsAttr), ints(lowerAttr), ints(upperAttr));
    program->setAttr(symbolNamesAttr, strings(symbolNamesAttr));
    SmallVector<Attribute> defaults;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Attribute value = function.getArgAttr(i, defaultAttr);
      defaults.push_back(value ? value : b.getUnitAttr());
    }
    program->setAttr(defaultAttr, b.getArrayAttr(defaults));
    Block &body = program.getBody().emplaceBlock();
    for (BlockArgument argument : function.getArguments())
      buffers[argument] = body.addArgument(argument.getType(), argument.getLoc());
    b.setInsertionPointToEnd(&body);
  }

  StringAttr nameOf(Attribute attr, StringRef kind, unsigned i) {
    return attr ? cast<StringAttr>(attr) : b.getStringAttr(kind + llvm::utostr(i));
  }

  /// The value whose buffer `value` is, behind views.
  static Value originOf(Value value) {
    while (auto view = value.getDefiningOp<ReshapeOp>())
      value = view.getX();
    return value;
  }

  /// A fusion may write an output directly when nothing else has claimed it.
  void claimOutputs() {
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      Value origin = originOf(value);
      if (origin.getDefiningOp<FusionOp>() && !claimed.contains(origin))
        claimed[origin] = static_cast<int64_t>(i);
      else
        copies.push_back({value, static_cast<int64_t>(i)});
    }
  }

  LogicalResult plan(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](ConstantOp) { return success(); }) // made where it is used
        .Case([&](ReshapeOp view) {
          if (!view->use_empty())
            buffers[view.getY()] =
                plan::ViewOp::create(b, op->getLoc(), view.getType(), bufferOf(view.getX()));
          return success();
        })
        .Case([&](BindOp bind) {
          plan::BindOp::create(b, op->getLoc(), bufferOf(bind.getTensor()), bind.getSymbols());
          for (Attribute symbol : bind.getSymbols())
            known.insert(cast<StringAttr>(symbol).getValue());
          planRequires();
          return success();
        })
        .Case([&](RequireOp) { return success(); }) // planRequires made it
        .Case([&](FusionOp fusion) { return launch(fusion); })
        .Default([&](Operation *other) {
          // The plan goes on, to find the others.
          for (Value result : other->getResults())
            buffers[result] = plan::AllocOp::create(b, other->getLoc(), result.getType());
          return other->emitOpError("has no kernel on this target");
        });
  }

  void noteSymbolsOfInputs() {
    for (BlockArgument argument : function.getArguments())
      for (const Expr &dim : shapeOf(argument))
        dim.forEachSymbol([&](StringRef name) { known.insert(name); });
  }

  /// Sizes are checked as soon as they are known, wherever the check stands: a
  /// launch must not see sizes that do not fit each other.
  void planRequires() {
    llvm::erase_if(requirements, [&](RequireOp require) {
      bool ready = true;
      for (const Expr &side : exprsOf(require.getPair()))
        side.forEachSymbol([&](StringRef name) { ready &= known.contains(name); });
      if (ready)
        plan::RequireOp::create(b, require.getLoc(), require.getPair(), require.getText(),
                                require.getRelation());
      return ready;
    });
  }

  /// A packed layout's full name says who packs it.
  static std::string packedLayout(Operation *anchor, StringRef layout) {
    return (anchor->getName().getStringRef() + ":" + layout).str();
  }

  Value constantBuffer(ElementsAttr value, StringRef layout) {
    Value &buffer = constants[{value, b.getStringAttr(layout)}];
    if (!buffer) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&program.getBody().front());
      buffer = plan::ConstantOp::create(b, program.getLoc(), value.getType(), value,
                                        b.getStringAttr(layout));
    }
    return buffer;
  }

  Value bufferOf(Value value) {
    if (ElementsAttr constant = constantOf(value))
      return constantBuffer(constant, "");
    return buffers.lookup(value);
  }

  LogicalResult launch(FusionOp fusion) {
    Operation *anchor = anchorOf(fusion);
    SmallVector<Value> ins, outs;
    SmallVector<std::string> layouts;
    for (auto [input, argument] : llvm::zip(fusion.getInputs(), fusion.getBody().getArguments())) {
      ElementsAttr constant = constantOf(input);
      layouts.push_back(layoutFor(anchor, argument, constant != nullptr));
      ins.push_back(layouts.back().empty()
                        ? bufferOf(input)
                        : constantBuffer(constant, packedLayout(anchor, layouts.back())));
    }
    SmallVector<Expr> symbols;
    StringRef kernel = kernelFor(fusion.getKernel(), fusion.getScheduleAttr(), layouts, symbols,
                                 [&](Region &region) {
                                   IRMapping map;
                                   fusion.getBody().cloneInto(&region, map);
                                 });
    for (Value result : fusion.getOutputs()) {
      auto output = claimed.find(result);
      Value buffer = output == claimed.end()
                         ? Value(plan::AllocOp::create(b, fusion.getLoc(), result.getType()))
                         : Value(plan::OutputOp::create(b, fusion.getLoc(), result.getType(),
                                                        b.getI64IntegerAttr(output->second)));
      buffers[result] = buffer;
      outs.push_back(buffer);
    }
    plan::LaunchOp::create(b, fusion.getLoc(), kernel, ins, outs,
                           exprsAttr(b.getContext(), symbols), fusion.getNodes());
    return success();
  }

  Operation *anchorOf(FusionOp fusion) {
    for (Operation &op : fusion.getBody().front())
      if (const OpKernels *kernels = table.find(&op); kernels && kernels->kernel)
        return &op;
    return nullptr;
  }

  /// How the anchor wants a constant operand to lie; "" for row-major.
  std::string layoutFor(Operation *anchor, BlockArgument argument, bool isConstant) {
    const OpKernels *kernels = anchor ? table.find(anchor) : nullptr;
    if (!isConstant || !kernels || !kernels->layoutOf || !argument.hasOneUse() ||
        argument.use_begin()->getOwner() != anchor)
      return "";
    return kernels->layoutOf(anchor, argument.use_begin()->getOperandNumber(), target);
  }

  /// The kernel whose region `fill` makes, unless an equal one exists; `symbols`
  /// gets what its symbols stand for here.
  StringRef kernelFor(StringRef family, DictionaryAttr schedule, ArrayRef<std::string> layouts,
                      SmallVector<Expr> &symbols, function_ref<void(Region &)> fill) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(program);
    auto kernel = plan::KernelOp::create(
        b, b.getUnknownLoc(), "kernel", family, b.getArrayAttr({}),
        b.getStrArrayAttr(SmallVector<StringRef>(layouts.begin(), layouts.end())), schedule);
    fill(kernel.getBody());
    Block &body = kernel.getBody().front();
    for (Operation &op : body)
      op.setLoc(b.getUnknownLoc());
    SmallVector<NamedSize> merged;
    if (family == "loop")
      merged = mergeAxes(body, table);
    SmallVector<Attribute> symbolNames;
    for (const NamedSize &symbol : renameSymbols(kernel, body)) {
      symbolNames.push_back(b.getStringAttr(symbol.first));
      auto size = llvm::find_if(
          merged, [&](const NamedSize &size) { return symbol.second.symbolName() == size.first; });
      symbols.push_back(size == merged.end() ? symbol.second : size->second);
    }
    kernel.setSymbolsAttr(b.getArrayAttr(symbolNames));

    std::string text;
    llvm::raw_string_ostream os(text);
    kernel->print(os, OpPrintingFlags().useLocalScope());
    auto [it, isNew] = kernels.try_emplace(text, "");
    if (!isNew) {
      kernel.erase();
      return it->second;
    }
    it->second = nameFor(body);
    kernel.setSymName(it->second);
    return it->second;
  }

  /// kiln_<dtype>_<op>_<op>..., numbered so that names never clash.
  std::string nameFor(Block &body) {
    Type element = elementTypeOf(body.getTerminator()->getOperand(0));
    std::string name = "kiln_";
    llvm::raw_string_ostream(name) << element;
    unsigned ops = 0;
    constexpr unsigned maxOpsInName = 4;
    for (Operation &op : body.without_terminator())
      if (!isa<ConstantOp>(op) && ops++ < maxOpsInName)
        name += ("_" + op.getName().stripDialect()).str();
    if (ops == 0)
      name += "_copy";
    return name + "_" + llvm::utostr(kernels.size() - 1);
  }

  void copyOutputs() {
    for (auto [copied, index] : copies) {
      Value value = copied;
      b.setInsertionPointToEnd(&program.getBody().front());
      Value source = bufferOf(value);
      SmallVector<Expr> symbols;
      StringRef kernel =
          kernelFor("loop", DictionaryAttr(), std::string(), symbols, [&](Region &region) {
            Block &body = region.emplaceBlock();
            Value argument = body.addArgument(value.getType(), b.getUnknownLoc());
            auto inside = OpBuilder::atBlockEnd(&body);
            YieldOp::create(inside, b.getUnknownLoc(), argument);
          });
      Value out =
          plan::OutputOp::create(b, value.getLoc(), value.getType(), b.getI64IntegerAttr(index));
      plan::LaunchOp::create(b, value.getLoc(), kernel, source, out,
                             exprsAttr(b.getContext(), symbols), "");
    }
  }

  ModuleOp module;
  func::FuncOp function;
  const KernelTable &table;
  const VectorTarget &target;
  OpBuilder b;
  plan::ProgramOp program;
  DenseMap<Value, Value> buffers;
  DenseMap<Value, int64_t> claimed;
  SmallVector<std::pair<Value, int64_t>> copies;
  DenseMap<std::pair<Attribute, Attribute>, Value> constants;
  llvm::StringMap<std::string> kernels;
  /// Symbols that have a value at this point of the program.
  llvm::StringSet<> known;
  /// Checks that wait for their symbols.
  SmallVector<RequireOp> requirements;
};

struct Plan final : kiln::impl::PlanPassBase<Plan> {
  Plan(const KernelTable &table, const VectorTarget &target) : table(table), target(target) {}
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(Planner(getOperation(), function, table, target).run()))
        signalPassFailure();
  }
  const KernelTable &table;
  const VectorTarget &target;
};
} // namespace

std::unique_ptr<Pass> kiln::createPlanPass(const KernelTable &table, const VectorTarget &target) {
  return std::make_unique<Plan>(table, target);
}
