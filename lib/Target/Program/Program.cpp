//===- Program.cpp - plan.program as functions ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(plan::ProgramOp program, const ProgramLayout &layout,
                 const llvm::StringMap<KernelFacts> &kernels, ModuleOp into)
      : program(program), body(program.getBody().front()), layout(layout), costs(program, kernels),
        into(into) {}

  void run() {
    buildBind();
    buildSizes();
    buildOutputDims();
  }

private:
  static unsigned inputIndex(Value value) {
    while (auto view = value.getDefiningOp<plan::ViewOp>())
      value = view.getSource();
    return cast<BlockArgument>(value).getArgNumber();
  }
  /// bind(symbols, inputs, fault)
  void buildBind() {
    FunctionBuilder f(into, layout, layout.prefix + "bind", 3, true);
    f.symbols = f.argument(0);
    for (Operation &op : body) {
      if (auto bind = dyn_cast<plan::BindOp>(op); bind && layout.isEarly(bind))
        f.bind(bind, f.loadPointer(f.argument(1),
                                   8 * static_cast<int64_t>(inputIndex(bind.getTensor()))));
      if (auto require = dyn_cast<plan::RequireOp>(op); require && layout.isEarly(require))
        f.require(require, layout.indexOf.lookup(require), f.argument(2));
    }
    f.finish(true);
  }

  /// sizes(symbols, sizes)
  void buildSizes() {
    FunctionBuilder f(into, layout, layout.prefix + "sizes", 2, false);
    f.symbols = f.argument(0);
    for (auto [i, buffer] : llvm::enumerate(layout.arena))
      f.store(f.bytes(buffer.type), f.argument(1), 8 * static_cast<int64_t>(i));
    std::vector<Expr> needs;
    program.getBody().walk([&](plan::LaunchOp launch) {
      Expr need = costs.scratchOf(launch);
      if (!layout.isLate(need) && !llvm::is_contained(needs, need))
        needs.push_back(need);
    });
    Value most = f.constant(0);
    for (const Expr &need : needs)
      most = arith::MaxSIOp::create(f.b, f.loc, most, f.size(need));
    f.store(most, f.argument(1), 8 * static_cast<int64_t>(layout.arena.size()));
    f.finish(false);
  }

  /// output_dims(symbols, dims)
  void buildOutputDims() {
    FunctionBuilder f(into, layout, layout.prefix + "output_dims", 2, false);
    f.symbols = f.argument(0);
    int64_t slot = 0;
    for (RankedTensorType type : layout.outputs)
      for (const Expr &dim : shapeOf(type))
        f.store(layout.isLate(dim) ? f.constant(-1) : f.size(dim), f.argument(1), 8 * slot++);
    f.finish(false);
  }

  plan::ProgramOp program;
  Block &body;
  const ProgramLayout &layout;
  LaunchCosts costs;
  ModuleOp into;
};
} // namespace

void kiln::buildProgram(plan::ProgramOp program, const ProgramLayout &layout,
                        const llvm::StringMap<KernelFacts> &kernels, ModuleOp into) {
  ProgramBuilder(program, layout, kernels, into).run();
  buildRun(program, layout, kernels, into);
}
