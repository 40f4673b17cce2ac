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
#include <cmath>

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
  /// `begin`: of the loop over units, which counts once; null: there is none.
  UnitCost(Block &code, Value begin) : begin(begin) { add(code, 1); }

  double instructions = 0;
  /// Loads that wait for each other. Compilers unroll loops by four, about.
  double waits = 1;
  /// Bytes that units ask for, and those of the sectors that they lie in.
  double wanted = 0, moved = 0;
  /// Bytes of loads that wait for nothing but their places.
  double loaded = 0;

private:
  double tripsOf(scf::ForOp loop) {
    if (loop.getLowerBound() == begin) {
      unit = loop.getInductionVar();
      return 1;
    }
    auto low = getConstantIntValue(loop.getLowerBound()),
         high = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!low || !high || !step || *step < 1)
      return unknownTrips();
    return static_cast<double>(std::max<int64_t>(0, llvm::divideCeil(*high - *low, *step)));
  }

  /// By how much a value grows from one unit to the next, for most of them.
  double strideOf(Value value) {
    if (value == unit || value == begin)
      return 1;
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0)
      return 0;
    if (auto known = strides.find(value); known != strides.end())
      return known->second;
    return strides[value] = strideOf(*op);
  }
  double strideOf(Operation &op) {
    auto number = [&](unsigned i) {
      auto known = getConstantIntValue(op.getOperand(i));
      return known ? static_cast<double>(*known) : unknownTrips();
    };
    auto stride = [&](unsigned i) { return strideOf(op.getOperand(i)); };
    if (isa<arith::AddIOp>(op))
      return stride(0) + stride(1);
    if (isa<arith::SubIOp>(op))
      return stride(0) - stride(1);
    if (isa<arith::MulIOp>(op))
      return stride(0) != 0 ? stride(0) * number(1) : stride(1) * number(0);
    if (isa<arith::DivUIOp, arith::DivSIOp>(op))
      return number(1) >= cuda::warpLanes ? 0 : stride(0) / number(1);
    if (isa<arith::SelectOp>(op))
      return std::max(std::fabs(stride(1)), std::fabs(stride(2)));
    // What is loaded for each unit may be anything.
    if (isa<memref::LoadOp>(op))
      return stride(1) == 0 ? 0 : cuda::warpLanes;
    double most = 0;
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      most = std::max(most, std::fabs(stride(i)));
    return most;
  }

  void access(Type element, Value position, double times) {
    double bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8), sector = 32;
    wanted += bytes * times;
    moved += times * std::clamp(std::fabs(strideOf(position)) * bytes, bytes, sector);
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
      if (auto load = dyn_cast<memref::LoadOp>(op)) {
        loads = true;
        if (times == 1)
          loaded += std::max(1u, load.getType().getIntOrFloatBitWidth() / 8);
        access(load.getType(), load.getIndices().front(), times);
      } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
        access(store.getValue().getType(), store.getIndices().front(), times);
      }
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          add(nested, inner);
    }
    if (loads && times > 1)
      waits += times / 4;
  }

  Value begin, unit;
  llvm::DenseMap<Value, double> strides;
};
} // namespace

double kiln::countOperations(Block &block) { return UnitCost(block, nullptr).instructions; }

cuda::Work kiln::genericWork(plan::KernelOp kernel, func::FuncOp function, int64_t units,
                             int threads) {
  UnitCost cost(function.front(), function.getArgument(function.getNumArguments() - 3));
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
  work.coalescing = cost.moved > 0 ? cost.wanted / cost.moved : 1;
  work.bytesInFlight = std::max(4, static_cast<int>(std::min(cost.loaded, 64.0)));
  work.instructions =
      cost.instructions * static_cast<double>(cuda::ceilDiv(units, cuda::warpLanes));
  work.cacheWaits = cost.waits - 1;
  return work;
}
