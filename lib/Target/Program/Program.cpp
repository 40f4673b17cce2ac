//===- Program.cpp - plan.program as functions ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Program/Program.h"
#include "dialects/Kiln/IR/Relation.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln-c/ModuleABI.h"
#include "kiln/Codegen/EmitExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kiln;

namespace {

/// One generated function under construction: loads, stores and arithmetic on
/// the structs of ModuleABI.h.
class FunctionBuilder {
public:
  FunctionBuilder(ModuleOp module, const ProgramLayout &layout, StringRef name,
                  unsigned numPointers, bool hasStatus)
      : layout(layout), b(module.getContext()), loc(module.getLoc()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> arguments(numPointers, pointer), results;
    if (hasStatus)
      results.push_back(b.getI32Type());
    function = func::FuncOp::create(b, loc, name, b.getFunctionType(arguments, results));
    b.setInsertionPointToEnd(function.addEntryBlock());
  }

  Value argument(unsigned i) { return function.getArgument(i); }

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
  }
  Value constant32(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                    b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value at(Value base, int64_t byteOffset) {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byteOffset)});
  }
  Value at(Value base, Value byteOffset) {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{byteOffset});
  }
  Value load(Type type, Value address) { return LLVM::LoadOp::create(b, loc, type, address); }
  Value loadPointer(Value base, int64_t byteOffset) { return load(pointer, at(base, byteOffset)); }
  void store(Value value, Value base, int64_t byteOffset) {
    LLVM::StoreOp::create(b, loc, value, at(base, byteOffset));
  }

  /// The value of a size, as i64; symbols are loaded once a block.
  Value size(const Expr &expr) {
    Value index = emitExpr(b, loc, expr, [&](StringRef name) { return symbol(name); });
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  }
  /// Bytes of a tensor, as i64. Sizes that the run reads from data may be
  /// absurd: a product that would wrap becomes one that no allocator grants.
  Value bytes(Type tensor) {
    constexpr double most = 0x1p46;
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
    };
    Value exact = size(bytesOf(tensor)), estimate = number(8);
    Shape shape = shapeOf(tensor);
    if (llvm::all_of(shape, [](const Expr &dim) { return dim.constant().has_value(); }))
      return exact;
    for (const Expr &dim : shape)
      estimate = arith::MulFOp::create(b, loc, estimate,
                                       arith::SIToFPOp::create(b, loc, b.getF64Type(), size(dim)));
    Value sane = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, estimate, number(most));
    return arith::SelectOp::create(b, loc, sane, exact, constant(INT64_MAX / 2));
  }
  Value symbol(StringRef name) {
    Value address = at(symbols, 8 * static_cast<int64_t>(layout.symbolIndex(name)));
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), load(b.getI64Type(), address));
  }

  /// Goes on in a new block; where `condition` holds, returns `status` after
  /// `before` has run.
  void returnIf(Value condition, int32_t status, function_ref<void()> before) {
    Block *current = b.getInsertionBlock();
    Block *leave = b.createBlock(&function.getBody(), function.getBody().end());
    before();
    func::ReturnOp::create(b, loc, constant32(status));
    Block *go = b.createBlock(&function.getBody(), function.getBody().end());
    b.setInsertionPointToEnd(current);
    cf::CondBranchOp::create(b, loc, condition, leave, go);
    b.setInsertionPointToEnd(go);
  }

  /// Checks a requirement; `fault` is the address of a kiln_module_fault.
  void require(plan::RequireOp op, unsigned constraint, Value fault) {
    Shape pair = exprsOf(op.getPair());
    Value left = size(pair[0]), right = size(pair[1]);
    Relation relation = *relationNamed(op.getRelation());
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, loc, predicate, x, y);
    };
    Value clash =
        compare(relation == Relation::AtMost ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ne,
                left, right);
    if (relation == Relation::Broadcast)
      for (Value side : {left, right})
        clash = arith::AndIOp::create(b, loc, clash,
                                      compare(arith::CmpIPredicate::ne, side, constant(1)));
    returnIf(clash, KILN_MODULE_CONSTRAINT, [&] {
      store(constant32(constraint), fault, offsetof(kiln_module_fault, constraint));
      store(left, fault, offsetof(kiln_module_fault, left));
      store(right, fault, offsetof(kiln_module_fault, right));
    });
  }

  /// Reads a tensor's elements into its symbols.
  void bind(plan::BindOp op, Value data) {
    Type element = cast<RankedTensorType>(op.getTensor().getType()).getElementType();
    int64_t bytes = elementBytes(element);
    for (auto [i, name] : llvm::enumerate(op.getSymbols())) {
      Value value = load(b.getIntegerType(static_cast<unsigned>(bytes * 8)),
                         at(data, static_cast<int64_t>(i) * bytes));
      if (bytes < 8)
        value = element.isUnsignedInteger() || element.isInteger(1)
                    ? Value(arith::ExtUIOp::create(b, loc, b.getI64Type(), value))
                    : Value(arith::ExtSIOp::create(b, loc, b.getI64Type(), value));
      store(value, symbols,
            8 * static_cast<int64_t>(layout.symbolIndex(cast<StringAttr>(name).getValue())));
    }
  }

  void finish(bool hasStatus) {
    if (hasStatus)
      func::ReturnOp::create(b, loc, constant32(KILN_MODULE_OK));
    else
      func::ReturnOp::create(b, loc);
  }

  const ProgramLayout &layout;
  OpBuilder b;
  Location loc;
  Type pointer;
  func::FuncOp function;
  Value symbols; // address of kiln_module_frame::symbols' first
};

class ProgramBuilder {
public:
  ProgramBuilder(plan::ProgramOp program, const ProgramLayout &layout,
                 const llvm::StringMap<KernelFacts> &kernels, ModuleOp into)
      : program(program), body(program.getBody().front()), layout(layout), kernels(kernels),
        into(into) {}

  void run() {
    buildBind();
    buildSizes();
    buildOutputDims();
    buildRun();
  }

private:
  static unsigned inputIndex(Value value) {
    while (auto view = value.getDefiningOp<plan::ViewOp>())
      value = view.getSource();
    return cast<BlockArgument>(value).getArgNumber();
  }
  bool isEarly(plan::BindOp bind) {
    return layout.symbolIndex(cast<StringAttr>(bind.getSymbols()[0]).getValue()) <
           layout.numBoundSymbols;
  }
  bool isEarly(plan::RequireOp require) {
    Shape pair = exprsOf(require.getPair());
    return !layout.isLate(pair[0]) && !layout.isLate(pair[1]);
  }

  /// bind(symbols, inputs, fault)
  void buildBind() {
    FunctionBuilder f(into, layout, "kiln_generated_bind", 3, true);
    f.symbols = f.argument(0);
    unsigned constraint = 0;
    for (Operation &op : body) {
      if (auto bind = dyn_cast<plan::BindOp>(op);
          bind && !bind.getSymbols().empty() && isEarly(bind))
        f.bind(bind, f.loadPointer(f.argument(1),
                                   8 * static_cast<int64_t>(inputIndex(bind.getTensor()))));
      if (auto require = dyn_cast<plan::RequireOp>(op)) {
        if (isEarly(require))
          f.require(require, constraint, f.argument(2));
        ++constraint;
      }
    }
    f.finish(true);
  }

  /// Scratch of a launch over the program's symbols.
  Expr scratchOf(plan::LaunchOp launch) { return inCaller(launch, factsOf(launch).scratchBytes); }

  const KernelFacts &factsOf(plan::LaunchOp launch) {
    return kernels.find(launch.getKernel())->second;
  }

  /// An expression over a kernel's symbols, as the launch fills them.
  Expr inCaller(plan::LaunchOp launch, const Expr &expr) {
    auto kernel =
        cast<plan::KernelOp>(SymbolTable::lookupNearestSymbolFrom(program, launch.getKernelAttr()));
    Shape actual = exprsOf(launch.getSymbols());
    return expr.substitute([&](StringRef name) -> std::optional<Expr> {
      for (auto [i, formal] : llvm::enumerate(kernel.getSymbols()))
        if (cast<StringAttr>(formal).getValue() == name)
          return actual[i];
      return std::nullopt;
    });
  }

  /// sizes(symbols, sizes)
  void buildSizes() {
    FunctionBuilder f(into, layout, "kiln_generated_sizes", 2, false);
    f.symbols = f.argument(0);
    for (auto [i, buffer] : llvm::enumerate(layout.arena))
      f.store(f.bytes(buffer.type), f.argument(1), 8 * static_cast<int64_t>(i));
    std::vector<Expr> needs;
    for (auto launch : body.getOps<plan::LaunchOp>())
      if (Expr need = scratchOf(launch); !layout.isLate(need) && !llvm::is_contained(needs, need))
        needs.push_back(need);
    Value most = f.constant(0);
    for (const Expr &need : needs)
      most = arith::MaxSIOp::create(f.b, f.loc, most, f.size(need));
    f.store(most, f.argument(1), 8 * static_cast<int64_t>(layout.arena.size()));
    f.finish(false);
  }

  /// output_dims(symbols, dims)
  void buildOutputDims() {
    FunctionBuilder f(into, layout, "kiln_generated_output_dims", 2, false);
    f.symbols = f.argument(0);
    int64_t slot = 0;
    for (RankedTensorType type : layout.outputs)
      for (const Expr &dim : shapeOf(type))
        f.store(layout.isLate(dim) ? f.constant(-1) : f.size(dim), f.argument(1), 8 * slot++);
    f.finish(false);
  }

  Value fieldOf(FunctionBuilder &f, int64_t offset) { return f.loadPointer(f.argument(0), offset); }

  Value callService(FunctionBuilder &f, int64_t offset, ValueRange arguments, bool returns) {
    Value fn = f.loadPointer(fieldOf(f, offsetof(kiln_module_frame, services)), offset);
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

  void failIfNull(FunctionBuilder &f, Value memory) {
    Value null = LLVM::ZeroOp::create(f.b, f.loc, f.pointer);
    Value isNull = LLVM::ICmpOp::create(f.b, f.loc, LLVM::ICmpPredicate::eq, memory, null);
    f.returnIf(isNull, KILN_MODULE_OUT_OF_MEMORY, [] {});
  }

  Value lateOutput(FunctionBuilder &f, plan::OutputOp output, Value slots) {
    Shape shape = shapeOf(layout.outputs[output.getIndex()]);
    for (auto [i, dim] : llvm::enumerate(shape))
      f.store(f.size(dim), slots, 8 * static_cast<int64_t>(i));
    Value memory = callService(
        f, offsetof(kiln_module_services, late_output),
        {f.argument(0), f.constant32(static_cast<int64_t>(output.getIndex())), slots}, true);
    failIfNull(f, memory);
    return memory;
  }

  /// How many chunks of at least `least` picoseconds the launch has.
  Value chunksOf(FunctionBuilder &f, Value units, const Expr &cost) {
    constexpr int64_t leastPicoseconds = 2'000'000;
    Value total = arith::MulIOp::create(f.b, f.loc, units, f.size(cost));
    Value chunks = arith::DivSIOp::create(f.b, f.loc, total, f.constant(leastPicoseconds));
    chunks = arith::MinSIOp::create(f.b, f.loc, chunks, f.constant(KILN_MODULE_MAX_CHUNKS));
    chunks = arith::MinSIOp::create(f.b, f.loc, chunks, units);
    chunks = arith::MaxSIOp::create(f.b, f.loc, chunks, f.constant(1));
    return arith::TruncIOp::create(f.b, f.loc, f.b.getI32Type(), chunks);
  }

  void launch(FunctionBuilder &f, plan::LaunchOp op, unsigned index, Value slots) {
    int64_t slot = 0;
    for (Value operand : op->getOperands())
      f.store(buffers.lookup(operand), slots, 8 * slot++);
    for (const Expr &symbol : exprsOf(op.getSymbols()))
      f.store(f.size(symbol), slots, 8 * slot++);
    const KernelFacts &facts = factsOf(op);
    Value fn = LLVM::AddressOfOp::create(f.b, f.loc, f.pointer, op.getKernel());
    Value units = f.size(inCaller(op, facts.units));
    Expr scratch = scratchOf(op);
    if (!layout.isLate(scratch)) {
      Value chunks = chunksOf(f, units, inCaller(op, facts.picosecondsPerUnit));
      callService(f, offsetof(kiln_module_services, launch),
                  {f.argument(0), f.constant32(index), fn, slots, units, chunks}, false);
      return;
    }
    // Scratch of a size that only now is known: on this thread alone.
    Value memory = callService(f, offsetof(kiln_module_services, allocate),
                               {f.argument(0), f.size(scratch)}, true);
    failIfNull(f, memory);
    Type i64 = f.b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(f.b.getContext()),
                                            {f.pointer, i64, i64, f.pointer});
    LLVM::CallOp::create(f.b, f.loc, type, ValueRange{fn, slots, f.constant(0), units, memory});
    callService(f, offsetof(kiln_module_services, release), {f.argument(0), memory}, false);
  }

  void declareKernels(FunctionBuilder &f) {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(into.getBody());
    Type i64 = f.b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(f.b.getContext()),
                                            {f.pointer, i64, i64, f.pointer});
    for (auto &entry : kernels) {
      auto kernel = LLVM::LLVMFuncOp::create(f.b, f.loc, entry.getKey(), type);
      kernel.setVisibility_(LLVM::Visibility::Hidden);
    }
  }

  /// Slots for the arguments of the largest launch or the dims of an output.
  int64_t mostSlots() {
    size_t most = 1;
    for (Operation &op : body) {
      if (auto launch = dyn_cast<plan::LaunchOp>(op))
        most = std::max(most, launch->getNumOperands() + launch.getSymbols().getExprs().size());
    }
    for (RankedTensorType output : layout.outputs)
      most = std::max(most, static_cast<size_t>(output.getRank()));
    return static_cast<int64_t>(most);
  }

  /// run(frame)
  void buildRun() {
    FunctionBuilder f(into, layout, "kiln_generated_run", 1, true);
    declareKernels(f);
    f.symbols = fieldOf(f, offsetof(kiln_module_frame, symbols));
    Value inputs = fieldOf(f, offsetof(kiln_module_frame, inputs)),
          outputs = fieldOf(f, offsetof(kiln_module_frame, outputs));
    Value arena = fieldOf(f, offsetof(kiln_module_frame, arena)),
          offsets = fieldOf(f, offsetof(kiln_module_frame, offsets));
    Value weights = fieldOf(f, offsetof(kiln_module_frame, weights));
    Value slots =
        LLVM::AllocaOp::create(f.b, f.loc, f.pointer, f.b.getI64Type(), f.constant(mostSlots()));
    for (BlockArgument argument : body.getArguments())
      if (!argument.use_empty())
        buffers[argument] =
            f.loadPointer(inputs, 8 * static_cast<int64_t>(argument.getArgNumber()));
    unsigned launches = 0, constraint = 0;
    for (Operation &op : body)
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
                    ? lateOutput(f, output, slots)
                    : f.loadPointer(outputs, 8 * static_cast<int64_t>(output.getIndex()));
          })
          .Case([&](plan::AllocOp alloc) {
            auto it = layout.arenaOf.find(alloc.getBuffer());
            if (it != layout.arenaOf.end()) {
              Value offset =
                  f.load(f.b.getI64Type(), f.at(offsets, 8 * static_cast<int64_t>(it->second)));
              buffers[alloc.getBuffer()] = f.at(arena, offset);
              return;
            }
            Value memory = callService(f, offsetof(kiln_module_services, allocate),
                                       {f.argument(0), f.bytes(alloc.getType())}, true);
            failIfNull(f, memory);
            buffers[alloc.getBuffer()] = memory;
          })
          .Case([&](plan::LaunchOp op) { launch(f, op, launches++, slots); })
          .Case([&](plan::BindOp bind) {
            if (!bind.getSymbols().empty() && !isEarly(bind))
              f.bind(bind, buffers.lookup(bind.getTensor()));
          })
          .Case([&](plan::RequireOp require) {
            if (!isEarly(require))
              f.require(
                  require, constraint,
                  f.at(f.argument(0), static_cast<int64_t>(offsetof(kiln_module_frame, fault))));
            ++constraint;
          });
    f.finish(true);
  }

  plan::ProgramOp program;
  Block &body;
  const ProgramLayout &layout;
  const llvm::StringMap<KernelFacts> &kernels;
  ModuleOp into;
  DenseMap<Value, Value> buffers;
};
} // namespace

void kiln::buildProgram(plan::ProgramOp program, const ProgramLayout &layout,
                        const llvm::StringMap<KernelFacts> &kernels, ModuleOp into) {
  ProgramBuilder(program, layout, kernels, into).run();
}
