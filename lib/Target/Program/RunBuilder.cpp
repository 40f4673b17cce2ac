//===- RunBuilder.cpp - The run function of a program ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

Expr LaunchCosts::inCaller(plan::LaunchOp launch, const Expr &expr) const {
  plan::ProgramOp from = program;
  auto kernel =
      cast<plan::KernelOp>(SymbolTable::lookupNearestSymbolFrom(from, launch.getKernelAttr()));
  Shape actual = exprsOf(launch.getSymbols());
  return expr.substitute([&](StringRef name) -> std::optional<Expr> {
    for (auto [i, formal] : llvm::enumerate(kernel.getSymbols()))
      if (cast<StringAttr>(formal).getValue() == name)
        return actual[i];
    return std::nullopt;
  });
}

namespace {

/// A program's blocks become blocks of the function; a buffer is a pointer.
class RunBuilder {
public:
  RunBuilder(plan::ProgramOp program, const ProgramLayout &layout,
             const llvm::StringMap<KernelFacts> &kernels, ModuleOp into)
      : program(program), layout(layout), kernels(kernels), costs(program, kernels), into(into),
        f(into, layout, layout.prefix + "run", 1, true) {}

  void run() {
    if (!isDevice())
      declareKernels();
    f.symbols = fieldOf(offsetof(kiln_module_frame, symbols));
    Value inputs = fieldOf(offsetof(kiln_module_frame, inputs));
    outputs = fieldOf(offsetof(kiln_module_frame, outputs));
    arena = fieldOf(offsetof(kiln_module_frame, arena));
    offsets = fieldOf(offsetof(kiln_module_frame, offsets));
    weights = fieldOf(offsetof(kiln_module_frame, weights));
    slots = room(mostSlots());
    // The stack of a loop's body must not grow.
    program.getBody().walk([&](plan::StackOp stack) { growing[stack] = room(stackFields); });
    Block &body = program.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (!argument.use_empty())
        buffers[argument] =
            f.loadPointer(inputs, 8 * static_cast<int64_t>(argument.getArgNumber()));
    emit(body);
    f.finish(true);
  }

private:
  void emit(Block &block) {
    for (Operation &op : block)
      emit(op);
  }

  void emit(Operation &op) {
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](plan::ConstantOp constant) {
          uint64_t offset = layout.weights[layout.weightOf.lookup(constant.getBuffer())].offset;
          buffers[constant.getBuffer()] = f.at(weights, f.constant(static_cast<int64_t>(offset)));
        })
        .Case([&](plan::ViewOp view) {
          buffers[view.getBuffer()] = buffers.lookup(view.getSource());
        })
        .Case([&](plan::OutputOp output) {
          buffers[output.getBuffer()] =
              layout.isLate(layout.outputs[output.getIndex()])
                  ? lateOutput(output)
                  : f.loadPointer(outputs, 8 * static_cast<int64_t>(output.getIndex()));
        })
        .Case([&](plan::AllocOp alloc) {
          auto it = layout.arenaOf.find(alloc.getBuffer());
          buffers[alloc.getBuffer()] =
              it == layout.arenaOf.end()
                  ? allocate(f.bytes(alloc.getType()))
                  : f.at(arena, f.load(f.b.getI64Type(),
                                       f.at(offsets, 8 * static_cast<int64_t>(it->second))));
        })
        .Case([&](plan::LaunchOp op) { launch(op); })
        .Case([&](plan::BindOp bind) {
          if (!bind.getSymbols().empty() && !layout.isEarly(bind))
            f.bind(bind, readable(buffers.lookup(bind.getTensor()),
                                  f.size(bytesOf(bind.getTensor().getType()))));
        })
        .Case([&](plan::RequireOp require) {
          if (!layout.isEarly(require))
            f.require(
                require, layout.indexOf.lookup(require),
                f.at(f.argument(0), static_cast<int64_t>(offsetof(kiln_module_frame, fault))));
        })
        .Case([&](plan::DefineOp op) { define(op); })
        .Case([&](plan::IfOp op) { branch(op); })
        .Case([&](plan::LoopOp op) { loop(op); })
        .Case([&](plan::AlternateOp op) {
          Value isOdd = arith::TruncIOp::create(f.b, f.loc, f.b.getI1Type(),
                                                f.size(Expr::symbol(op.getIteration())));
          buffers[op.getBuffer()] = LLVM::SelectOp::create(
              f.b, f.loc, isOdd, buffers.lookup(op.getOdd()), buffers.lookup(op.getEven()));
        })
        .Case([&](plan::SlotOp op) {
          Expr offset = bytesOf(op.getBuffer().getType()) * exprsOf(op.getIndex())[0];
          buffers[op.getBuffer()] = f.at(buffers.lookup(op.getStack()), f.size(offset));
        })
        .Case([&](plan::CopyOp op) {
          copy(buffers.lookup(op.getTo()), buffers.lookup(op.getFrom()),
               f.size(bytesOf(op.getFrom().getType())));
        })
        .Case([&](plan::StackOp op) {
          for (int64_t field = 0; field < stackFields; ++field)
            f.store(f.constant(0), growing.lookup(op), 8 * field);
        })
        .Case([&](plan::AppendOp op) { append(op); })
        .Case([&](plan::StackedOp op) {
          buffers[op.getBuffer()] = f.loadPointer(stackOf(op.getStack()), stackData);
        });
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  Block *newBlock(TypeRange arguments = {}) {
    OpBuilder::InsertionGuard guard(f.b);
    return f.b.createBlock(&f.function.getBody(), f.function.getBody().end(), arguments,
                           SmallVector<Location>(arguments.size(), f.loc));
  }
  void jump(Block *to, ValueRange arguments = {}) {
    cf::BranchOp::create(f.b, f.loc, to, arguments);
  }
  SmallVector<Value> pointersOf(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return buffers.lookup(value); });
  }
  Value isTrue(Value buffer) {
    Value byte = f.load(f.b.getI8Type(), readable(buffers.lookup(buffer), f.constant(1)));
    Value zero = arith::ConstantOp::create(f.b, f.loc, f.b.getI8IntegerAttr(0));
    return arith::CmpIOp::create(f.b, f.loc, arith::CmpIPredicate::ne, byte, zero);
  }

  void define(plan::DefineOp op) {
    SmallVector<Value> values;
    for (const Expr &value : exprsOf(op.getValues()))
      values.push_back(f.size(value));
    for (auto [value, name] : llvm::zip_equal(values, op.getSymbols().getAsRange<StringAttr>()))
      f.define(name.getValue(), value);
  }

  void branch(plan::IfOp op) {
    Block *then = newBlock(), *otherwise = newBlock();
    Block *join = newBlock(SmallVector<Type>(op.getNumResults(), f.pointer));
    cf::CondBranchOp::create(f.b, f.loc, isTrue(op.getCondition()), then, otherwise);
    for (auto [block, region] :
         {std::pair(then, &op.getThenRegion()), std::pair(otherwise, &op.getElseRegion())}) {
      f.b.setInsertionPointToEnd(block);
      emit(region->front());
      jump(join, pointersOf(region->front().getTerminator()->getOperands()));
    }
    f.b.setInsertionPointToEnd(join);
    for (auto [result, pointer] : llvm::zip_equal(op.getBuffers(), join->getArguments()))
      buffers[result] = pointer;
  }

  /// Whether iterations take memory from the heap.
  bool usesHeap(plan::LoopOp op) {
    auto takes = [&](Operation *inner) {
      auto alloc = dyn_cast<plan::AllocOp>(inner);
      return isa<plan::AppendOp>(inner) || (alloc && layout.isLate(alloc)) ? WalkResult::interrupt()
                                                                           : WalkResult::advance();
    };
    return op.getBody().walk(takes).wasInterrupted();
  }

  /// The head has the number of the iteration, whether to go on, and the buffers
  /// that are handed on.
  void loop(plan::LoopOp op) {
    SmallVector<Type> types = {f.b.getI64Type(), f.b.getI1Type()};
    types.append(op.getInits().size(), f.pointer);
    Block *head = newBlock(types), *start = newBlock(), *exit = newBlock();
    Value trips = f.size(exprsOf(op.getTrips())[0]);
    bool cleans = usesHeap(op);
    Value mark =
        cleans ? callService(offsetof(kiln_module_services, mark), {f.argument(0)}, true) : Value();
    SmallVector<Value> first = {f.constant(0), isSure(true)};
    llvm::append_range(first, pointersOf(op.getInits()));
    jump(head, first);

    f.b.setInsertionPointToEnd(head);
    Value iteration = head->getArgument(0);
    Value more = arith::CmpIOp::create(f.b, f.loc, arith::CmpIPredicate::slt, iteration, trips);
    more = arith::AndIOp::create(f.b, f.loc, more, head->getArgument(1));
    cf::CondBranchOp::create(f.b, f.loc, more, start, exit);

    f.b.setInsertionPointToEnd(start);
    f.define(op.getIteration(), iteration);
    Block &body = op.getBody().front();
    for (auto [argument, pointer] :
         llvm::zip_equal(body.getArguments(), head->getArguments().drop_front(2)))
      buffers[argument] = pointer;
    emit(body);
    ValueRange yielded = body.getTerminator()->getOperands();
    Value goOn = op.getConditional() ? isTrue(yielded[0]) : isSure(true);
    SmallVector<Value> next = pointersOf(yielded.drop_front(op.getConditional()));
    if (cleans)
      releaseSince(mark, next, op.getStacks());
    next.insert(next.begin(), {arith::AddIOp::create(f.b, f.loc, iteration, f.constant(1)), goOn});
    jump(head, next);

    f.b.setInsertionPointToEnd(exit);
    for (auto [result, pointer] :
         llvm::zip_equal(op.getBuffers(), head->getArguments().drop_front(2)))
      buffers[result] = pointer;
  }

  Value isSure(bool value) { return arith::ConstantOp::create(f.b, f.loc, f.b.getBoolAttr(value)); }

  void releaseSince(Value mark, ValueRange kept, ValueRange stacks) {
    int64_t count = 0;
    for (Value pointer : kept)
      f.store(pointer, slots, 8 * count++);
    for (Value stack : stacks)
      f.store(f.loadPointer(stackOf(stack), stackData), slots, 8 * count++);
    callService(offsetof(kiln_module_services, release_since),
                {f.argument(0), mark, slots, f.constant32(count)}, false);
  }

  //===--------------------------------------------------------------------===//
  // Buffers that grow
  //===--------------------------------------------------------------------===//

  // A plan.stack while the run is under way, in bytes.
  static constexpr int64_t stackData = 0, stackCapacity = 8, stackUsed = 16, stackFields = 3;

  Value stackOf(Value stack) { return growing.lookup(stack.getDefiningOp()); }

  void append(plan::AppendOp op) {
    Value stack = stackOf(op.getStack()), size = f.bytes(op.getElement().getType());
    auto field = [&](int64_t offset) { return f.load(f.b.getI64Type(), f.at(stack, offset)); };
    Value used = field(stackUsed), capacity = field(stackCapacity);
    Value needed = arith::AddIOp::create(f.b, f.loc, used, size);
    Value isFull = arith::CmpIOp::create(f.b, f.loc, arith::CmpIPredicate::sgt, needed, capacity);
    Block *grow = newBlock(), *add = newBlock();
    cf::CondBranchOp::create(f.b, f.loc, isFull, grow, add);

    f.b.setInsertionPointToEnd(grow);
    Value twice = arith::AddIOp::create(f.b, f.loc, capacity, capacity);
    Value room = arith::MaxSIOp::create(f.b, f.loc, twice, needed);
    Value larger = allocate(room), smaller = f.loadPointer(stack, stackData);
    copy(larger, smaller, used);
    release(smaller);
    f.store(larger, stack, stackData);
    f.store(room, stack, stackCapacity);
    jump(add);

    f.b.setInsertionPointToEnd(add);
    copy(f.at(f.loadPointer(stack, stackData), used), buffers.lookup(op.getElement()), size);
    f.store(needed, stack, stackUsed);
  }

  //===--------------------------------------------------------------------===//
  // Services
  //===--------------------------------------------------------------------===//

  Value fieldOf(int64_t offset) { return f.loadPointer(f.argument(0), offset); }

  Value callService(int64_t offset, ValueRange arguments, bool returns) {
    Value fn = f.loadPointer(fieldOf(offsetof(kiln_module_frame, services)), offset);
    SmallVector<Type> types;
    for (Value argument : arguments)
      types.push_back(argument.getType());
    Type result = returns ? f.pointer : Type(LLVM::LLVMVoidType::get(f.b.getContext()));
    SmallVector<Value> operands = {fn};
    llvm::append_range(operands, arguments);
    auto call =
        LLVM::CallOp::create(f.b, f.loc, LLVM::LLVMFunctionType::get(result, types), operands);
    return returns ? call.getResult() : Value();
  }

  void failIfNull(Value memory) {
    Value null = LLVM::ZeroOp::create(f.b, f.loc, f.pointer);
    Value isNull = LLVM::ICmpOp::create(f.b, f.loc, LLVM::ICmpPredicate::eq, memory, null);
    f.returnIf(isNull, KILN_MODULE_OUT_OF_MEMORY, [] {});
  }

  Value allocate(Value bytes) {
    Value memory =
        callService(offsetof(kiln_module_services, allocate), {f.argument(0), bytes}, true);
    failIfNull(memory);
    return memory;
  }
  void release(Value memory) {
    callService(offsetof(kiln_module_services, release), {f.argument(0), memory}, false);
  }
  bool isDevice() const { return layout.deviceKernels.has_value(); }
  /// The address where the host can read a buffer.
  Value readable(Value buffer, Value bytes) {
    if (!isDevice())
      return buffer;
    Value copy =
        callService(offsetof(kiln_module_services, fetch), {f.argument(0), buffer, bytes}, true);
    failIfNull(copy);
    return copy;
  }
  void copy(Value to, Value from, Value bytes) {
    if (isDevice())
      callService(offsetof(kiln_module_services, copy), {f.argument(0), to, from, bytes}, false);
    else
      LLVM::MemcpyOp::create(f.b, f.loc, to, from, bytes, /*isVolatile=*/false);
  }

  Value lateOutput(plan::OutputOp output) {
    Shape shape = shapeOf(layout.outputs[output.getIndex()]);
    for (auto [i, dim] : llvm::enumerate(shape))
      f.store(f.size(dim), slots, 8 * static_cast<int64_t>(i));
    Value memory = callService(
        offsetof(kiln_module_services, late_output),
        {f.argument(0), f.constant32(static_cast<int64_t>(output.getIndex())), slots}, true);
    failIfNull(memory);
    return memory;
  }

  /// How many chunks of at least `least` picoseconds the launch has.
  Value chunksOf(Value units, const Expr &cost) {
    constexpr int64_t leastPicoseconds = 2'000'000;
    Value total = arith::MulIOp::create(f.b, f.loc, units, f.size(cost));
    Value chunks = arith::DivSIOp::create(f.b, f.loc, total, f.constant(leastPicoseconds));
    chunks = arith::MinSIOp::create(f.b, f.loc, chunks, f.constant(KILN_MODULE_MAX_CHUNKS));
    chunks = arith::MinSIOp::create(f.b, f.loc, chunks, units);
    chunks = arith::MaxSIOp::create(f.b, f.loc, chunks, f.constant(1));
    return arith::TruncIOp::create(f.b, f.loc, f.b.getI32Type(), chunks);
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

  void launch(plan::LaunchOp op) {
    int64_t slot = 0;
    for (Value operand : op->getOperands())
      f.store(buffers.lookup(operand), slots, 8 * slot++);
    for (const Expr &symbol : exprsOf(op.getSymbols()))
      f.store(f.size(symbol), slots, 8 * slot++);
    Value units = f.size(costs.unitsOf(op));
    Expr scratch = costs.scratchOf(op);
    if (isDevice()) {
      const ProgramLayout::DeviceLaunch &kernel =
          layout.deviceKernels->find(op.getKernel())->second;
      f.store(f.size(scratch), slots, 8 * slot++);
      for (const std::array<Expr, 3> &grid : kernel.grids)
        for (const Expr &blocks : grid)
          f.store(f.size(costs.inCaller(op, blocks)), slots, 8 * slot++);
      callService(offsetof(kiln_module_services, launch),
                  {f.argument(0), f.constant32(layout.indexOf.lookup(op)),
                   LLVM::ZeroOp::create(f.b, f.loc, f.pointer), slots, units,
                   f.constant32(kernel.index)},
                  false);
      return;
    }
    Value fn = LLVM::AddressOfOp::create(f.b, f.loc, f.pointer, op.getKernel());
    if (!layout.isLate(scratch)) {
      Value chunks = chunksOf(units, costs.picosecondsPerUnitOf(op));
      callService(
          offsetof(kiln_module_services, launch),
          {f.argument(0), f.constant32(layout.indexOf.lookup(op)), fn, slots, units, chunks},
          false);
      return;
    }
    // Scratch of a size that only now is known: on this thread alone.
    Value memory = allocate(f.size(scratch));
    LLVM::CallOp::create(f.b, f.loc, kernelType(),
                         ValueRange{fn, slots, f.constant(0), units, memory});
    release(memory);
  }

  LLVM::LLVMFunctionType kernelType() {
    Type i64 = f.b.getI64Type();
    return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(f.b.getContext()),
                                       {f.pointer, i64, i64, f.pointer});
  }

  void declareKernels() {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(into.getBody());
    for (auto &entry : kernels) {
      auto kernel = LLVM::LLVMFuncOp::create(f.b, f.loc, entry.getKey(), kernelType());
      kernel.setVisibility_(LLVM::Visibility::Hidden);
    }
  }

  /// Memory of the function for so many numbers or pointers.
  Value room(int64_t count) {
    return LLVM::AllocaOp::create(f.b, f.loc, f.pointer, f.b.getI64Type(), f.constant(count));
  }

  /// What a device's launch has behind the others: scratch, and three numbers of
  /// blocks for each grid.
  size_t deviceSlots(plan::LaunchOp launch) {
    return isDevice() ? 1 + 3 * layout.deviceKernels->find(launch.getKernel())->second.grids.size()
                      : 0;
  }

  /// Slots for the arguments of the largest launch, the dims of an output, or the
  /// buffers that a loop keeps.
  int64_t mostSlots() {
    size_t most = 1;
    program.getBody().walk([&](Operation *op) {
      if (auto launch = dyn_cast<plan::LaunchOp>(op))
        most = std::max(most, launch->getNumOperands() + launch.getSymbols().getExprs().size() +
                                  deviceSlots(launch));
      if (auto loop = dyn_cast<plan::LoopOp>(op))
        most = std::max<size_t>(most, loop->getNumOperands());
    });
    for (RankedTensorType output : layout.outputs)
      most = std::max(most, static_cast<size_t>(output.getRank()));
    return static_cast<int64_t>(most);
  }

  plan::ProgramOp program;
  const ProgramLayout &layout;
  const llvm::StringMap<KernelFacts> &kernels;
  LaunchCosts costs;
  ModuleOp into;
  FunctionBuilder f;
  DenseMap<Value, Value> buffers;
  DenseMap<Operation *, Value> growing;
  Value outputs, arena, offsets, weights, slots;
};
} // namespace

void kiln::buildRun(plan::ProgramOp program, const ProgramLayout &layout,
                    const llvm::StringMap<KernelFacts> &kernels, ModuleOp into) {
  RunBuilder(program, layout, kernels, into).run();
}
