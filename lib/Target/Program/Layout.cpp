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

bool ProgramLayout::isLate(Type tensor) const {
  // Not of the number of elements: that is known when a dim is 0.
  return llvm::any_of(shapeOf(tensor), [&](const Expr &dim) { return isLate(dim); });
}

static Value behindViews(Value value) {
  while (auto view = value.getDefiningOp<plan::ViewOp>())
    value = view.getSource();
  return value;
}

static void collectSymbols(plan::ProgramOp program, ProgramLayout &layout) {
  for (Attribute name : program.getSymbols())
    layout.symbols.push_back(cast<StringAttr>(name).str());
  layout.numInputSymbols = layout.symbols.size();
  SmallVector<std::string> late;
  for (auto bind : program.getBody().front().getOps<plan::BindOp>()) {
    bool early = isa<BlockArgument>(behindViews(bind.getTensor()));
    layout.readsInputs |= early;
    for (Attribute name : bind.getSymbols())
      (early ? layout.symbols : late).push_back(cast<StringAttr>(name).str());
  }
  layout.numBoundSymbols = layout.symbols.size();
  llvm::append_range(layout.symbols, late);
}

static void collectWeights(plan::ProgramOp program, ProgramLayout &layout) {
  for (auto constant : program.getBody().front().getOps<plan::ConstantOp>()) {
    layout.weightOf[constant.getBuffer()] = static_cast<unsigned>(layout.weights.size());
    layout.weights.push_back({constant.getValue(), constant.getLayoutAttr()});
  }
  for (Attribute preset : program->getAttrOfType<ArrayAttr>(defaultAttr)) {
    auto value = dyn_cast<ElementsAttr>(preset);
    layout.defaultWeights.push_back(value ? static_cast<unsigned>(layout.weights.size()) : ~0u);
    if (value)
      layout.weights.push_back({value, StringAttr::get(program.getContext(), "")});
  }
}

ProgramLayout kiln::layoutProgram(plan::ProgramOp program) {
  ProgramLayout layout;
  collectSymbols(program, layout);
  collectWeights(program, layout);
  for (Type type : program.getOutputTypes().getAsValueRange<TypeAttr>())
    layout.outputs.push_back(cast<RankedTensorType>(type));

  auto use = [&](Value value, uint32_t at) {
    if (auto it = layout.arenaOf.find(behindViews(value)); it != layout.arenaOf.end())
      layout.arena[it->second].last = std::max(layout.arena[it->second].last, at);
  };
  for (Operation &op : program.getBody().front()) {
    auto next = static_cast<uint32_t>(layout.launches.size());
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](plan::AllocOp alloc) {
          if (layout.isLate(alloc.getType()))
            return;
          layout.arenaOf[alloc.getBuffer()] = static_cast<unsigned>(layout.arena.size());
          layout.arena.push_back({alloc.getType(), next, next});
        })
        .Case([&](plan::LaunchOp launch) {
          for (Value operand : launch->getOperands())
            use(operand, next);
          layout.launches.push_back({launch.getKernel().str(), launch.getNodes().str()});
        })
        // What is read between launches must outlive the launch before.
        .Case([&](plan::BindOp bind) { use(bind.getTensor(), next ? next - 1 : 0); })
        .Case([&](plan::RequireOp require) {
          layout.constraints.push_back(require.getText().str());
        });
  }
  return layout;
}
