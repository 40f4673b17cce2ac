//===- GenericWork.cpp - What a generic kernel does -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericWork.h"
#include "kiln/Target/CUDA/Template.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kiln;

/// Of a loop whose length only the run knows.
static double unknownTrips() {
  return static_cast<double>(TemplateWriter::guess(Expr::symbol("n")));
}

namespace {
/// Adds up what one unit costs.
class UnitCost {
public:
  explicit UnitCost(func::FuncOp function)
      : begin(function.getArgument(function.getNumArguments() - 3)) {
    add(function.front(), 1);
  }

  double instructions = 0;
  /// Loads that wait for each other. Compilers unroll loops by four, about.
  double waits = 1;

private:
  double tripsOf(scf::ForOp loop) {
    // That over the units.
    if (loop.getLowerBound() == begin)
      return 1;
    auto low = getConstantIntValue(loop.getLowerBound()),
         high = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!low || !high || !step || *step < 1)
      return unknownTrips();
    return static_cast<double>(std::max<int64_t>(0, llvm::divideCeil(*high - *low, *step)));
  }

  void add(Block &block, double times) {
    bool loads = false;
    for (Operation &op : block) {
      double inner = times;
      if (auto loop = dyn_cast<scf::ForOp>(op))
        inner *= tripsOf(loop);
      else if (isa<scf::WhileOp>(op))
        inner *= unknownTrips();
      else if (!op.hasTrait<OpTrait::ConstantLike>() && !op.hasTrait<OpTrait::IsTerminator>())
        instructions += times;
      loads |= isa<memref::LoadOp>(op);
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          add(nested, inner);
    }
    if (loads && times > 1)
      waits += times / 4;
  }

  Value begin;
};
} // namespace

cuda::Work kiln::genericWork(plan::KernelOp kernel, func::FuncOp function, int64_t units,
                             int threads) {
  UnitCost cost(function);
  auto bytes = [](Value tensor) {
    return TemplateWriter::guess(elementCount(shapeOf(tensor))) *
           static_cast<int64_t>(elementBytes(elementTypeOf(tensor)));
  };
  Block &body = kernel.getBody().front();
  cuda::Work work;
  work.shape = {{cuda::ceilDiv(units, threads), 1, 1}, threads, 0};
  constexpr int usualRegisters = 32;
  work.registers = usualRegisters;
  for (Value input : body.getArguments())
    work.traffic.readBytes += bytes(input);
  for (Value result : body.getTerminator()->getOperands())
    work.traffic.writtenBytes += bytes(result);
  work.traffic.uniqueReadBytes = work.traffic.readBytes;
  work.traffic.uniqueWrittenBytes = work.traffic.writtenBytes;
  work.bytesInFlight = 4;
  work.instructions =
      cost.instructions * static_cast<double>(cuda::ceilDiv(units, cuda::warpLanes));
  work.memoryWaits = 1;
  work.cacheWaits = cost.waits - 1;
  return work;
}
