//===- Layout.cpp - What a program keeps where ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/ModelAttributes.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln/Target/Program/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

Expr kiln::bytesOf(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  return elementCount(shapeOf(tensor)) * Expr(elementBytes(element));
}

unsigned ProgramLayout::symbolIndex(StringRef name) const {
  auto it = llvm::find(symbols, name);
  assert(it != symbols.end() && "every symbol is an input's or comes from a bind");
  return static_cast<unsigned>(it - symbols.begin());
}

bool ProgramLayout::isLate(const Expr &expr) const {
  bool late = false;
  expr.forEachSymbol([&](StringRef name) { late |= symbolIndex(name) >= numBoundSymbols; });
  return late;
}

bool ProgramLayout::isLate(plan::AllocOp alloc) const {
  return alloc.getOnHeap() || isLate(alloc.getType());
}

bool ProgramLayout::isLate(Type tensor) const {
  // Not of the number of elements: that is known when a dim is 0.
  return llvm::any_of(shapeOf(tensor), [&](const Expr &dim) { return isLate(dim); });
}

bool ProgramLayout::isEarly(plan::BindOp bind) const {
  return !bind.getSymbols().empty() &&
         symbolIndex(cast<StringAttr>(bind.getSymbols()[0]).getValue()) < numBoundSymbols;
}

bool ProgramLayout::isEarly(plan::RequireOp require) const {
  // One in a branch holds there alone.
  return isa<plan::ProgramOp>(require->getParentOp()) &&
         llvm::none_of(exprsOf(require.getPair()), [&](const Expr &e) { return isLate(e); });
}

static Value behindViews(Value value) {
  for (;;)
    if (auto view = value.getDefiningOp<plan::ViewOp>())
      value = view.getSource();
    else if (auto slot = value.getDefiningOp<plan::SlotOp>())
      value = slot.getStack();
    else
      return value;
}

static void collectSymbols(plan::ProgramOp program, ProgramLayout &layout) {
  for (Attribute name : program.getSymbols())
    layout.symbols.push_back(cast<StringAttr>(name).str());
  layout.numInputSymbols = layout.symbols.size();
  SmallVector<std::string> late;
  program.getBody().walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](plan::BindOp bind) {
          bool early = bind->getParentOp() == program.getOperation() &&
                       isa<BlockArgument>(behindViews(bind.getTensor()));
          layout.readsInputs |= early;
          for (Attribute name : bind.getSymbols())
            (early ? layout.symbols : late).push_back(cast<StringAttr>(name).str());
        })
        .Case([&](plan::DefineOp define) {
          for (Attribute name : define.getSymbols())
            if (!llvm::is_contained(late, cast<StringAttr>(name).str()))
              late.push_back(cast<StringAttr>(name).str());
        })
        .Case([&](plan::LoopOp loop) { late.push_back(loop.getIteration().str()); });
  });
  layout.numBoundSymbols = layout.symbols.size();
  llvm::append_range(layout.symbols, late);
}

static void collectWeights(plan::ProgramOp program, ProgramLayout &layout) {
  for (auto constant : program.getBody().front().getOps<plan::ConstantOp>()) {
    layout.weightOf[constant.getBuffer()] = static_cast<unsigned>(layout.weights.size());
    auto named = constant.getLoc()->findInstanceOf<NameLoc>();
    layout.weights.push_back(
        {constant.getValue(), constant.getLayoutAttr(), named ? named.getName().str() : ""});
  }
  for (auto [preset, input] :
       llvm::zip(program->getAttrOfType<ArrayAttr>(defaultAttr), program.getInputNames())) {
    auto value = dyn_cast<ElementsAttr>(preset);
    layout.defaultWeights.push_back(value ? static_cast<unsigned>(layout.weights.size()) : ~0u);
    if (value)
      layout.weights.push_back(
          {value, StringAttr::get(program.getContext(), ""), cast<StringAttr>(input).str()});
  }
}

namespace {
/// Numbers steps, launches and constraints, and finds how long buffers live.
class StepWalk {
public:
  explicit StepWalk(ProgramLayout &layout) : layout(layout) {}

  void visit(Block &block) {
    for (Operation &op : block)
      visit(op);
  }

private:
  void visit(Operation &op) {
    ++step;
    for (Value operand : op.getOperands())
      use(operand);
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](plan::AllocOp alloc) {
          if (layout.isLate(alloc))
            return;
          layout.arenaOf[alloc.getBuffer()] = static_cast<unsigned>(layout.arena.size());
          layout.arena.push_back({alloc.getType(), step, step});
        })
        .Case([&](plan::LaunchOp launch) {
          layout.indexOf[launch] = static_cast<unsigned>(layout.launches.size());
          for (Value out : launch.getOuts())
            noteWriter(out);
          layout.launches.push_back({launch.getKernel().str(), launch.getNodes().str(), step});
        })
        .Case([&](plan::RequireOp require) {
          layout.indexOf[require] = static_cast<unsigned>(layout.constraints.size());
          layout.constraints.push_back(require.getText().str());
        })
        .Case([&](plan::IfOp branch) {
          visit(branch.getThenRegion().front());
          visit(branch.getElseRegion().front());
        })
        .Case([&](plan::LoopOp loop) {
          visit(loop.getBody().front());
          // The next iteration reads them again.
          ++step;
          auto isOutside = [&](Value value) {
            return !loop.getBody().isAncestor(value.getParentRegion());
          };
          loop.getBody().walk([&](Operation *inner) {
            for (Value operand : inner->getOperands())
              use(operand, isOutside);
          });
        });
  }

  /// Every buffer that a value may be.
  void collectOrigins(Value value, llvm::SetVector<Value> &origins) {
    value = behindViews(value);
    if (!origins.insert(value))
      return;
    auto from = [&](Value other) { collectOrigins(other, origins); };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<plan::LoopOp>(argument.getOwner()->getParentOp()))
        from(loop.getBuffers()[argument.getArgNumber()]);
      return;
    }
    unsigned number = cast<OpResult>(value).getResultNumber();
    llvm::TypeSwitch<Operation *>(value.getDefiningOp())
        .Case([&](plan::AlternateOp alternate) {
          from(alternate.getEven());
          from(alternate.getOdd());
        })
        .Case([&](plan::IfOp branch) {
          from(branch.getThenRegion().front().getTerminator()->getOperand(number));
          from(branch.getElseRegion().front().getTerminator()->getOperand(number));
        })
        .Case([&](plan::LoopOp loop) {
          from(loop.getInits()[number]);
          from(loop.getBody().front().getTerminator()->getOperand(number + loop.getConditional()));
        });
  }

  void forEachBuffer(Value value, function_ref<void(Value, ProgramLayout::ArenaBuffer &)> work) {
    llvm::SetVector<Value> origins;
    collectOrigins(value, origins);
    for (Value origin : origins)
      if (auto it = layout.arenaOf.find(origin); it != layout.arenaOf.end())
        work(origin, layout.arena[it->second]);
  }

  void use(Value value, function_ref<bool(Value)> counts = nullptr) {
    forEachBuffer(value, [&](Value origin, ProgramLayout::ArenaBuffer &buffer) {
      if (!counts || counts(origin))
        buffer.last = std::max(buffer.last, step);
    });
  }

  /// Of the launch that is numbered next.
  void noteWriter(Value out) {
    forEachBuffer(out, [&](Value, ProgramLayout::ArenaBuffer &buffer) {
      if (!buffer.writer)
        buffer.writer = static_cast<uint32_t>(layout.launches.size());
    });
  }

  ProgramLayout &layout;
  uint32_t step = 0;
};
} // namespace

ProgramLayout kiln::layoutProgram(plan::ProgramOp program) {
  ProgramLayout layout;
  collectSymbols(program, layout);
  collectWeights(program, layout);
  for (Type type : program.getOutputTypes().getAsValueRange<TypeAttr>())
    layout.outputs.push_back(cast<RankedTensorType>(type));

  StepWalk(layout).visit(program.getBody().front());
  return layout;
}
