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
#include "dialects/Kiln/ops/Control/Control.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Codegen/FusionGroup.h"
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
    if (failed(planBlock(function.getBody().front())))
      return failure();
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
      auto index = b.getI64IntegerAttr(static_cast<int64_t>(i));
      if (!isSizeKnownBehind(origin, value.getType()) ||
          !claim(origin, end->getBlock(), [this, index](Location loc, Type type) -> Value {
            return plan::OutputOp::create(b, loc, type, index);
          }))
        copies.push_back({value, static_cast<int64_t>(i)});
    }
  }

  /// Whether sizes of this type do not wait for something after the op that makes
  /// `origin`: an output's memory is asked for when that is launched.
  static bool isSizeKnownBehind(Value origin, Type type) {
    Operation *maker = origin.getDefiningOp();
    if (!maker || type == origin.getType())
      return true;
    llvm::StringSet<> later;
    for (Operation *op = maker->getNextNode(); op; op = op->getNextNode())
      if (auto symbols = op->getAttrOfType<ArrayAttr>("symbols"))
        for (StringAttr symbol : symbols.getAsRange<StringAttr>())
          later.insert(symbol.getValue());
    bool known = true;
    for (const Expr &dim : shapeOf(cast<RankedTensorType>(type)))
      dim.forEachSymbol([&](StringRef name) { known &= !later.contains(name); });
    return known;
  }

  /// The fusion or stack in `block` that is a value shall be where `place` says,
  /// when nothing else says where.
  bool claim(Value origin, Block *block, std::function<Value(Location, Type)> place) {
    auto loop = origin.getDefiningOp<LoopOp>();
    bool isStack =
        loop && llvm::is_contained(loop.getStacks(), origin) && !changesIn(loop, origin.getType());
    return (isStack || origin.getDefiningOp<FusionOp>()) && origin.getParentBlock() == block &&
           claimed.try_emplace(origin, std::move(place)).second;
  }

  /// A buffer for a value that is computed here.
  Value placeFor(Value value) {
    auto place = claimed.find(value);
    if (place != claimed.end())
      return place->second(value.getLoc(), value.getType());
    return plan::AllocOp::create(b, value.getLoc(), value.getType());
  }

  LogicalResult planBlock(Block &block) {
    auto outer = std::exchange(requirements, llvm::to_vector(block.getOps<RequireOp>()));
    planRequires();
    bool planned = true;
    for (Operation &op : block.without_terminator())
      planned &= succeeded(plan(&op));
    if (planned && !requirements.empty())
      planned =
          succeeded(requirements[0].emitOpError("is about a symbol that nothing gives a value"));
    requirements = std::move(outer);
    return success(planned);
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
          learn(bind.getSymbols());
          planRequires();
          return success();
        })
        .Case([&](RequireOp) { return success(); }) // planRequires made it
        .Case([&](FusionOp fusion) { return launch(fusion); })
        .Case([&](IfOp branch) { return planIf(branch); })
        .Case([&](LoopOp loop) { return planLoop(loop); })
        .Default([&](Operation *other) {
          // The plan goes on, to find the others.
          for (Value result : other->getResults())
            buffers[result] = plan::AllocOp::create(b, other->getLoc(), result.getType());
          return other->emitOpError("has no kernel on this target");
        });
  }

  void learn(ArrayAttr symbols) {
    for (StringAttr symbol : symbols.getAsRange<StringAttr>())
      known.insert(symbol.getValue());
  }

  void define(Location loc, ArrayRef<ControlSymbol> symbols, Expr ControlSymbol::*value) {
    if (symbols.empty())
      return;
    Shape values;
    SmallVector<Attribute> names;
    for (const ControlSymbol &symbol : symbols) {
      names.push_back(symbol.name);
      values.push_back(symbol.*value);
    }
    plan::DefineOp::create(b, loc, exprsAttr(b.getContext(), values), b.getArrayAttr(names));
  }

  LogicalResult planIf(IfOp op) {
    Location loc = op.getLoc();
    auto planned = plan::IfOp::create(b, loc, op.getResultTypes(), bufferOf(op.getCondition()));
    SmallVector<ControlSymbol> symbols = controlSymbols(op);
    auto planBranch = [&](Region &from, Region &to, Expr ControlSymbol::*size) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(&to.emplaceBlock());
      llvm::StringSet<> outer = known;
      auto done = planBlock(from.front());
      known = std::move(outer);
      SmallVector<Value> yielded;
      for (Value value : from.front().getTerminator()->getOperands())
        yielded.push_back(bufferOf(value));
      define(loc, symbols, size);
      plan::YieldOp::create(b, loc, yielded);
      return done;
    };
    bool good =
        succeeded(planBranch(op.getThenRegion(), planned.getThenRegion(), &ControlSymbol::first));
    good &=
        succeeded(planBranch(op.getElseRegion(), planned.getElseRegion(), &ControlSymbol::second));
    for (auto [result, buffer] : llvm::zip_equal(op.getOutputs(), planned.getBuffers()))
      buffers[result] = buffer;
    learn(op.getSymbols());
    planRequires();
    return success(good);
  }

  /// Whether a type's size changes while the loop runs.
  static bool changesIn(LoopOp op, Type type) {
    bool changes = false;
    for (const Expr &size : shapeOf(type))
      size.forEachSymbol([&](StringRef name) {
        changes |= llvm::is_contained(op.getSymbols().getAsValueRange<StringAttr>(), name);
      });
    return changes;
  }

  /// How iterations hand on carried value `i`: the buffer of the next one is made
  /// by the function that is returned, at the end of the body.
  std::function<Value()> planCarried(LoopOp op, unsigned i) {
    Value next = op.getNext()[i], origin = originOf(next);
    Type type = op.getOutputs()[i].getType();
    Location loc = op.getLoc();
    Block *body = &op.getBody().front();
    bool isOutside = !op.getBody().isAncestor(origin.getParentRegion()) || constantOf(origin);
    auto argument = dyn_cast<BlockArgument>(origin);
    bool isArgument = argument && argument.getOwner() == body;
    auto same = [this, next] { return bufferOf(next); };
    // Nothing writes these buffers while they are handed on.
    if (isOutside || (isArgument && argument.getArgNumber() == i))
      return same;
    if (changesIn(op, type)) {
      auto onHeap = [this](Location loc, Type type) -> Value {
        return plan::AllocOp::create(b, loc, type, /*on_heap=*/true);
      };
      if ((isArgument && changesIn(op, argument.getType())) || claim(origin, body, onHeap))
        return same;
      return [this, loc, next, onHeap] { return copyTo(onHeap(loc, next.getType()), next); };
    }
    Value even = plan::AllocOp::create(b, loc, type), odd = plan::AllocOp::create(b, loc, type);
    StringAttr iteration = op.getIterationAttr();
    auto other = [this, even, odd, iteration](Location loc, Type type) -> Value {
      return plan::AlternateOp::create(b, loc, type, even, odd, iteration);
    };
    if (claim(origin, body, other))
      return same;
    return [this, loc, next, type, other] { return copyTo(other(loc, type), next); };
  }

  Value copyTo(Value buffer, Value value) {
    plan::CopyOp::create(b, value.getLoc(), bufferOf(value), buffer);
    return buffer;
  }

  /// A stack's buffer; `finish` gets what the end of the body does for it.
  Value planStack(LoopOp op, unsigned i, SmallVector<std::function<void()>> &finish) {
    Value stack = op.getStacks()[i], element = op.getElements()[i];
    Location loc = op.getLoc();
    if (changesIn(op, stack.getType())) {
      Value buffer = plan::StackOp::create(b, loc, stack.getType());
      finish.push_back([this, loc, element, buffer] {
        plan::AppendOp::create(b, loc, bufferOf(element), buffer);
      });
      return buffer;
    }
    Value buffer = placeFor(stack);
    ExprsAttr index = exprsAttr(b.getContext(), {Expr::symbol(op.getIteration())});
    auto slot = [this, buffer, index](Location loc, Type type) -> Value {
      return plan::SlotOp::create(b, loc, type, buffer, index);
    };
    if (!claim(originOf(element), &op.getBody().front(), slot))
      finish.push_back(
          [this, loc, element, slot] { copyTo(slot(loc, element.getType()), element); });
    return buffer;
  }

  LogicalResult planLoop(LoopOp op) {
    Location loc = op.getLoc();
    SmallVector<ControlSymbol> symbols = controlSymbols(op);
    SmallVector<std::function<Value()>> handOn;
    SmallVector<std::function<void()>> finish;
    SmallVector<Value> inits, stacks, growing;
    for (auto [i, init] : llvm::enumerate(op.getInits())) {
      inits.push_back(bufferOf(init));
      handOn.push_back(planCarried(op, static_cast<unsigned>(i)));
    }
    for (unsigned i = 0; i < op.getStacks().size(); ++i) {
      stacks.push_back(planStack(op, i, finish));
      if (stacks.back().getDefiningOp<plan::StackOp>())
        growing.push_back(stacks.back());
    }
    define(loc, symbols, &ControlSymbol::first);
    auto carried = op.getOutputs().take_front(inits.size());
    auto planned = plan::LoopOp::create(b, loc, carried.getTypes(), inits, growing,
                                        op.getTripsAttr(), op.getIteration(), op.getConditional());
    LogicalResult done = success();
    {
      OpBuilder::InsertionGuard guard(b);
      Block &body = planned.getBody().emplaceBlock();
      b.setInsertionPointToEnd(&body);
      for (BlockArgument argument : op.getBody().getArguments())
        buffers[argument] = body.addArgument(argument.getType(), argument.getLoc());
      llvm::StringSet<> outer = known;
      known.insert(op.getIteration());
      learn(op.getSymbols());
      done = planBlock(op.getBody().front());
      known = std::move(outer);
      SmallVector<Value> yielded;
      if (Value goOn = op.getGoOn())
        yielded.push_back(bufferOf(goOn));
      for (auto &next : handOn)
        yielded.push_back(next());
      for (auto &end : finish)
        end();
      define(loc, symbols, &ControlSymbol::second);
      plan::YieldOp::create(b, loc, yielded);
    }
    for (auto [result, buffer] : llvm::zip_equal(carried, planned.getBuffers()))
      buffers[result] = buffer;
    for (auto [result, buffer] : llvm::zip_equal(op.getStacks(), stacks))
      buffers[result] = buffer.getDefiningOp<plan::StackOp>()
                            ? plan::StackedOp::create(b, loc, result.getType(), buffer)
                            : buffer;
    learn(op.getSymbols());
    planRequires();
    return done;
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

  /// Of `constant`, whose place names it in reports.
  Value constantBuffer(Value constant, StringRef layout) {
    ElementsAttr value = constantOf(constant);
    Value &buffer = constants[{value, b.getStringAttr(layout)}];
    if (!buffer) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&program.getBody().front());
      buffer = plan::ConstantOp::create(b, constant.getLoc(), value.getType(), value,
                                        b.getStringAttr(layout));
    }
    return buffer;
  }

  Value bufferOf(Value value) {
    if (constantOf(value))
      return constantBuffer(value, "");
    return buffers.lookup(value);
  }

  LogicalResult launch(FusionOp fusion) {
    Operation *anchor = anchorOf(fusion.getBody().front(), fusion.getKernel(), table);
    SmallVector<Value> ins, outs;
    SmallVector<std::string> layouts;
    for (auto [input, argument] : llvm::zip(fusion.getInputs(), fusion.getBody().getArguments())) {
      layouts.push_back(layoutFor(anchor, argument, constantOf(input) != nullptr));
      ins.push_back(layouts.back().empty()
                        ? bufferOf(input)
                        : constantBuffer(input, packedLayout(anchor, layouts.back())));
    }
    SmallVector<Expr> symbols;
    StringRef kernel = kernelFor(fusion.getKernel(), fusion.getScheduleAttr(), layouts, symbols,
                                 [&](Region &region) {
                                   IRMapping map;
                                   fusion.getBody().cloneInto(&region, map);
                                 });
    for (Value result : fusion.getOutputs()) {
      buffers[result] = placeFor(result);
      outs.push_back(buffers[result]);
    }
    plan::LaunchOp::create(b, fusion.getLoc(), kernel, ins, outs,
                           exprsAttr(b.getContext(), symbols), fusion.getNodes());
    return success();
  }

  /// How the anchor wants a constant operand to lie; "" for row-major.
  std::string layoutFor(Operation *anchor, BlockArgument argument, bool isConstant) {
    const OpKernels *kernels = anchor ? table.find(anchor) : nullptr;
    if (!isConstant || !kernels || !kernels->layoutOf || target.isDevice || !argument.hasOneUse() ||
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
  /// Where fusions write their results when not to a buffer of their own.
  DenseMap<Value, std::function<Value(Location, Type)>> claimed;
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
