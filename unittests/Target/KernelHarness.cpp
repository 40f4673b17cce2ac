//===- KernelHarness.cpp - Kernels against the reference ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "HarnessData.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Target/CPU/KernelCompiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cmath>
#include <ctime>
#include <set>

using namespace mlir;
using namespace kiln;

namespace {

using Bindings = std::map<std::string, int64_t>;
using KernelEntry = void (*)(const void *, int64_t, int64_t, void *);

/// Tables and a context, made once a process.
struct World {
  World() : context(registry()) {
    context.loadAllAvailableDialects();
    registerKernels(kernels);
    registerReferences(references);
  }
  static DialectRegistry registry() {
    DialectRegistry registry;
    KernelCompiler::registerDialects(registry);
    return registry;
  }
  static World &get() {
    static World world;
    return world;
  }
  MLIRContext context;
  KernelTable kernels;
  ReferenceTable references;
};

/// A region as a plan.kernel, and how to run it.
class Case {
public:
  explicit Case(StringRef text);
  bool valid() const { return kernel; }

  std::vector<Bindings> bindings(const ParityOptions &options) const;
  std::optional<CompiledKernel> compile(const std::string &cpu);
  void check(const CompiledKernel &compiled, KernelEntry entry, const Bindings &binding,
             const ParityOptions &options);
  double measure(const CompiledKernel &compiled, KernelEntry entry, const Bindings &binding,
                 int rounds);

  plan::KernelOp kernel;

private:
  struct Run;
  int64_t evaluate(const Expr &expr, const Bindings &binding) const {
    return expr.evaluate([&](StringRef name) { return binding.at(name.str()); });
  }
  RankedTensorType specialize(Type type, const Bindings &binding) const {
    Shape shape;
    for (const Expr &dim : shapeOf(type))
      shape.push_back(evaluate(dim, binding));
    return tensorType(shape, cast<RankedTensorType>(type).getElementType());
  }
  void liftConstants(Block &body);
  void collectSymbols(Block &body);
  void chooseLayouts(Block &body, const VectorTarget &target);
  TensorData randomData(RankedTensorType type, unsigned input, const ParityOptions &options) const;
  SmallVector<TensorData> reference(ArrayRef<TensorData> inputs, const Bindings &binding) const;

  OwningOpRef<ModuleOp> module;
  std::set<std::string> symbols;
  /// Of the last block arguments.
  std::vector<TensorData> constants;
};

} // namespace

//===----------------------------------------------------------------------===//
// From text to a kernel
//===----------------------------------------------------------------------===//

static Operation *anchorOf(Block &body) {
  for (Operation &op : body)
    if (const OpKernels *entry = World::get().kernels.find(&op))
      if (entry->kernel)
        return &op;
  return nullptr;
}

Case::Case(StringRef text) {
  World &world = World::get();
  module = parseSourceString<ModuleOp>(text, &world.context);
  if (!module || module->getOps<func::FuncOp>().empty())
    return;
  auto function = *module->getOps<func::FuncOp>().begin();
  OpBuilder b(function);
  kernel = plan::KernelOp::create(b, function.getLoc(), "kernel", "", b.getStrArrayAttr({}),
                                  b.getStrArrayAttr({}), DictionaryAttr());
  kernel.getBody().takeBody(function.getBody());
  function.erase();
  Block &body = kernel.getBody().front();
  auto back = cast<func::ReturnOp>(body.getTerminator());
  b.setInsertionPoint(back);
  YieldOp::create(b, back.getLoc(), back.getOperands());
  back.erase();
  if (Operation *anchor = anchorOf(body))
    kernel.setFamily(world.kernels.find(anchor)->family);
  liftConstants(body);
  collectSymbols(body);
}

void Case::liftConstants(Block &body) {
  for (auto constant : llvm::make_early_inc_range(body.getOps<ConstantOp>()))
    if (!constant.getValue().isSplat()) {
      constants.push_back(*tensorDataOf(constant.getValue()));
      constant.replaceAllUsesWith(body.addArgument(constant.getType(), constant.getLoc()));
      constant.erase();
    }
}

void Case::collectSymbols(Block &body) {
  auto note = [&](const Expr &expr) {
    expr.forEachSymbol([&](StringRef name) { symbols.insert(name.str()); });
  };
  auto noteType = [&](Type type) { llvm::for_each(shapeOf(type), note); };
  llvm::for_each(body.getArgumentTypes(), noteType);
  for (Operation &op : body) {
    llvm::for_each(op.getResultTypes(), noteType);
    op.getAttrDictionary().walk([&](ExprsAttr attr) { llvm::for_each(exprsOf(attr), note); });
  }
  SmallVector<StringRef> names(symbols.begin(), symbols.end());
  kernel.setSymbolsAttr(OpBuilder(kernel).getStrArrayAttr(names));
}

void Case::chooseLayouts(Block &body, const VectorTarget &target) {
  SmallVector<std::string> layouts(body.getNumArguments());
  Operation *anchor = anchorOf(body);
  const OpKernels *entry = anchor ? World::get().kernels.find(anchor) : nullptr;
  if (entry && entry->layoutOf)
    for (size_t i = body.getNumArguments() - constants.size(); i < layouts.size(); ++i) {
      Value argument = body.getArgument(i);
      if (argument.hasOneUse() && *argument.user_begin() == anchor)
        layouts[i] = entry->layoutOf(anchor, argument.use_begin()->getOperandNumber(), target);
    }
  kernel.setLayoutsAttr(
      OpBuilder(kernel).getStrArrayAttr(SmallVector<StringRef>(layouts.begin(), layouts.end())));
}

std::vector<Bindings> Case::bindings(const ParityOptions &options) const {
  std::vector<Bindings> result;
  size_t count = symbols.empty() ? 1 : options.sizes.size();
  for (const auto &[name, values] : options.symbolValues)
    count = symbols.size() == 1 ? values.size() : std::max(count, values.size());
  for (size_t i = 0; i < count; ++i) {
    Bindings binding;
    size_t j = 0;
    for (const std::string &name : symbols) {
      auto given = options.symbolValues.find(name);
      const auto &values = given == options.symbolValues.end() ? options.sizes : given->second;
      // Strides that are coprime to most list lengths: all pairs come near.
      binding[name] = values[(i * (j * 2 + 1) + j * 5) % values.size()];
      ++j;
    }
    result.push_back(std::move(binding));
  }
  return result;
}

/// Whether this machine has all that a target needs.
static bool runnable(const CPUTarget &target) {
  auto native = cantFail(CPUTarget::create("native"));
  std::set<StringRef> have;
  SmallVector<StringRef> names;
  std::string list = native.featureList(), wanted = target.featureList();
  StringRef(list).split(names, ',');
  have.insert(names.begin(), names.end());
  names.clear();
  StringRef(wanted).split(names, ',', -1, false);
  return llvm::all_of(names, [&](StringRef name) { return have.count(name) != 0; });
}

std::optional<CompiledKernel> Case::compile(const std::string &cpu) {
  World &world = World::get();
  auto target = cantFail(CPUTarget::create(cpu));
  if (!runnable(target))
    return std::nullopt;
  chooseLayouts(kernel.getBody().front(), target.vector);
  KernelCompiler compiler(world.context, world.kernels, target);
  KernelOptions options;
  options.threads = 1;
  const char *dump = std::getenv("KILN_HARNESS_DUMP");
  options.keepLLVMIR = options.keepAssembly = dump != nullptr;
  auto compiled = compiler.compile({kernel}, options);
  EXPECT_TRUE(succeeded(compiled));
  if (failed(compiled))
    return std::nullopt;
  if (dump)
    llvm::errs() << (StringRef(dump) == "asm" ? compiled->front().assembly
                                              : compiled->front().llvmIR);
  return std::move(compiled->front());
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

TensorData Case::randomData(RankedTensorType type, unsigned input,
                            const ParityOptions &options) const {
  TensorData data(type);
  Random random(input + 1);
  auto range = options.ranges.find(input);
  auto [low, high] =
      range == options.ranges.end() ? std::pair(options.low, options.high) : range->second;
  Type element = type.getElementType();
  static const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1e-30, 0.5};
  for (int64_t i = 0; i < data.size(); ++i) {
    bool special = options.specials && random.next() % 4 == 0;
    if (isa<FloatType>(element)) {
      data.setFloat(i, special ? specials[random.next() % std::size(specials)]
                               : low + (high - low) * random.uniform());
    } else if (element.isInteger(1)) {
      data.setInt(i, random.next() & 1);
    } else if (special) {
      data.setInt(i, static_cast<int64_t>(random.next()));
    } else {
      bool isDefault = range == options.ranges.end();
      double from = isDefault ? (element.isUnsignedInteger() ? 0 : -100) : low;
      double to = isDefault ? 100 : high;
      data.setInt(i, static_cast<int64_t>(std::floor(from + (to - from + 1) * random.uniform())));
    }
  }
  return data;
}

SmallVector<TensorData> Case::reference(ArrayRef<TensorData> inputs,
                                        const Bindings &binding) const {
  Block &body = plan::KernelOp(kernel).getBody().front();
  llvm::DenseMap<Value, TensorData> values;
  for (auto [argument, data] : llvm::zip(body.getArguments(), inputs))
    values[argument] = data;
  MLIRContext *context = plan::KernelOp(kernel).getContext();
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ExprsAttr attr) {
    Shape exprs;
    for (const Expr &expr : exprsOf(attr))
      exprs.push_back(evaluate(expr, binding));
    return exprsAttr(context, exprs);
  });
  replacer.addReplacement([&](RankedTensorType type) { return specialize(type, binding); });
  // Ops need operands of static types: each is a stand-in of that type.
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder b(scratch->getBodyRegion());
  IRMapping standIns;
  auto standIn = [&](Value value) {
    auto cast = UnrealizedConversionCastOp::create(
        b, value.getLoc(), specialize(value.getType(), binding), ValueRange{});
    standIns.map(value, cast.getResult(0));
  };
  for (Value argument : body.getArguments())
    standIn(argument);
  for (Operation &op : body.without_terminator()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      values[constant] = *tensorDataOf(constant.getValue());
      standIn(constant);
      continue;
    }
    Operation *copy = b.clone(op, standIns);
    replacer.replaceElementsIn(copy, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                               /*replaceTypes=*/true);
    SmallVector<TensorData> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    auto results = kiln::evaluate(World::get().references, copy, operands);
    EXPECT_TRUE(succeeded(results)) << op.getName().getStringRef().str() << " has no reference";
    if (failed(results))
      return {};
    for (auto [result, data] : llvm::zip(op.getResults(), *results))
      values[result] = data;
  }
  SmallVector<TensorData> outputs;
  for (Value result : body.getTerminator()->getOperands())
    outputs.push_back(values.lookup(result));
  return outputs;
}

/// The memory of one run.
struct Case::Run {
  Run(Case &c, const CompiledKernel &compiled, const Bindings &binding,
      const ParityOptions &options)
      : units(c.evaluate(compiled.facts.units, binding)),
        scratch((c.evaluate(compiled.facts.scratchBytes, binding) + 63) / 64 * 64) {
    Block &body = c.kernel.getBody().front();
    size_t firstConstant = body.getNumArguments() - c.constants.size();
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
      inputs.push_back(i < firstConstant
                           ? c.randomData(c.specialize(argument.getType(), binding), i, options)
                           : c.constants[i - firstConstant]);
      StringRef layout = cast<StringAttr>(c.kernel.getLayouts()[i]).getValue();
      if (layout.empty()) {
        add(inputs.back().bytes(), inputs.back().byteSize());
        continue;
      }
      const OpKernels *entry = World::get().kernels.find(anchorOf(body));
      SmallVector<char, 0> packed =
          entry->pack(layout, inputs.back().type(), inputs.back().bytes());
      packed.resize((packed.size() + 63) / 64 * 64);
      add(packed.data(), static_cast<int64_t>(packed.size()));
    }
    for (Value result : body.getTerminator()->getOperands())
      outputs.emplace_back(c.specialize(result.getType(), binding));
    for (TensorData &output : outputs)
      slots.push_back(memory.emplace_back(output.byteSize()).data());
    for (const auto &[name, value] : binding)
      slots.push_back(reinterpret_cast<void *>(value));
  }

  void add(const char *bytes, int64_t size) {
    memory.emplace_back(size);
    std::memcpy(memory.back().data(), bytes, static_cast<size_t>(size));
    slots.push_back(memory.back().data());
  }
  void call(KernelEntry entry, int64_t begin, int64_t end) {
    entry(slots.data(), begin, end, scratch.data());
  }

  int64_t units;
  GuardedMemory scratch;
  std::vector<GuardedMemory> memory;
  std::vector<void *> slots;
  SmallVector<TensorData> inputs, outputs;
};

static double defaultTolerance(Type element) {
  if (isSmallFloat(element))
    return 0; // their only arithmetic is a rounding
  return element.isF64() ? 1e-12 : element.isF32() ? 2e-6 : element.isF16() ? 2e-3 : 1.6e-2;
}

static std::string describe(const Bindings &binding) {
  std::string text;
  for (const auto &[name, value] : binding)
    text += llvm::formatv("{0}={1} ", name, value).str();
  return text;
}

void Case::check(const CompiledKernel &compiled, KernelEntry entry, const Bindings &binding,
                 const ParityOptions &options) {
  SCOPED_TRACE(describe(binding));
  Run run(*this, compiled, binding, options);
  SmallVector<TensorData> wanted = reference(run.inputs, binding);
  ASSERT_EQ(wanted.size(), run.outputs.size());
  // Chunks out of order: none may lean on another.
  for (int64_t chunk : {2, 0, 1}) {
    run.scratch.poison();
    run.call(entry, run.units * chunk / 3, run.units * (chunk + 1) / 3);
  }
  EXPECT_TRUE(run.scratch.intact());
  for (GuardedMemory &memory : run.memory)
    EXPECT_TRUE(memory.intact()) << "wrote in front of a buffer";
  for (auto [o, want] : llvm::enumerate(wanted)) {
    TensorData got(want.type(), run.memory[run.inputs.size() + o].data());
    Type element = want.elementType();
    double tolerance = options.tolerance != 0    ? options.tolerance
                       : isa<FloatType>(element) ? defaultTolerance(element)
                                                 : 0;
    int64_t wrong = 0;
    for (int64_t i = 0; i < want.size() && wrong < 5; ++i) {
      bool equal;
      double g = got.getFloat(i), w = want.getFloat(i);
      if (isa<FloatType>(element))
        equal = std::isnan(w) ? std::isnan(g)
                : std::isinf(w)
                    ? g == w
                    : std::abs(g - w) <= tolerance * std::max({1.0, std::abs(w), options.scale});
      else
        equal = got.getInt(i) == want.getInt(i);
      if (!equal) {
        ++wrong;
        ADD_FAILURE() << "output " << o << " element " << i << " of " << want.size() << ": got "
                      << g << ", want " << w;
      }
    }
  }
}

double Case::measure(const CompiledKernel &compiled, KernelEntry entry, const Bindings &binding,
                     int rounds) {
  Run run(*this, compiled, binding, {});
  double best = INFINITY;
  run.call(entry, 0, run.units);
  for (int round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    run.call(entry, 0, run.units);
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

/// Loads an object and calls `use` with its kernel.
static void withKernel(const CompiledKernel &compiled, llvm::function_ref<void(KernelEntry)> use) {
  auto jit = cantFail(llvm::orc::LLJITBuilder().create());
  jit->getMainJITDylib().addGenerator(
      cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  cantFail(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      StringRef(compiled.object.data(), compiled.object.size()), compiled.name)));
  auto address = jit->lookup(compiled.name);
  if (!address) {
    ADD_FAILURE() << llvm::toString(address.takeError());
    return;
  }
  use(address->toPtr<KernelEntry>());
}

void kiln::expectParity(StringRef function, const ParityOptions &options) {
  Case test(function);
  ASSERT_TRUE(test.valid());
  for (const std::string &cpu : options.cpus) {
    SCOPED_TRACE(cpu);
    auto compiled = test.compile(cpu);
    if (!compiled)
      continue;
    withKernel(*compiled, [&](KernelEntry entry) {
      for (const Bindings &binding : test.bindings(options))
        test.check(*compiled, entry, binding, options);
    });
  }
}

Timing kiln::timeKernel(StringRef function, const std::map<std::string, int64_t> &symbols,
                        const std::string &cpu, int rounds) {
  Case test(function);
  Timing timing{INFINITY, INFINITY, 0};
  if (!test.valid())
    return timing;
  for (int round = 0; round < 3; ++round) {
    std::clock_t start = std::clock();
    auto compiled = test.compile(cpu);
    timing.compile =
        std::min(timing.compile, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    if (!compiled)
      return timing;
    timing.objectBytes = compiled->object.size();
    if (round == 2)
      withKernel(*compiled, [&](KernelEntry entry) {
        timing.run = test.measure(*compiled, entry, symbols, rounds);
      });
  }
  return timing;
}
