//===- KernelEmitter.cpp - Kernels as CUDA C++ ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CUDA/KernelEmitter.h"
#include "CodePrinter.h"
#include "GenericWork.h"
#include "kiln/Codegen/MathLowering.h"
#include "kiln/Target/CUDA/Template.h"
#include "kiln/Target/KernelFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Threads of a block of a generic kernel. Any number of warps does: such a
/// kernel shares nothing, and this many let eight blocks fill a multiprocessor.
static constexpr unsigned genericThreads = 256;

void KernelEmitter::registerDialects(DialectRegistry &registry) {
  registry
      .insert<KilnDialect, plan::PlanDialect, func::FuncDialect, arith::ArithDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
}

KernelEmitter::KernelEmitter(MLIRContext &context, const KernelTable &table,
                             const cuda::DeviceFacts &device, bool mayRoundToTf32)
    : table(table), device(device), mayRoundToTf32(mayRoundToTf32), passes(&context) {
  registerTemplates(templates);
  context.loadAllAvailableDialects();
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLowerMathPass(VectorTarget::device()));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

namespace {
/// Prints one kernel.
class KernelText {
public:
  KernelText(plan::KernelOp kernel, func::FuncOp function, DeviceKernel &result)
      : kernel(kernel), function(function), entry(function.front()), result(result),
        os(result.text), printer(os, 1) {}

  LogicalResult print() {
    os << "#include \"kiln/cuda/Math.h\"\n\n";
    bool inPlace = stridesInPlace();
    if (!inPlace && failed(printUnitFunction()))
      return failure();
    printHead(inPlace);
    os << "  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;\n"
       << "  const int64_t threads = int64_t(gridDim.x) * blockDim.x;\n";
    if (result.usesScratch)
      os << "  scratch += thread * scratchBytes;\n";
    if (inPlace) {
      printer.name(begin(), "thread");
      printer.name(end(), "units");
      printer.setStride(begin(), end(), "threads");
      if (failed(printer.print(entry)))
        return failure();
    } else {
      os << "  for (int64_t unit = thread; unit < units; unit += threads)\n"
         << "    " << result.name << "_units(" << llvm::join(arguments, ", ")
         << (arguments.empty() ? "" : ", ") << "unit, unit + 1"
         << (result.usesScratch ? ", scratch" : "") << ");\n";
    }
    os << "}\n";
    return success();
  }

private:
  Value begin() { return entry.getArgument(entry.getNumArguments() - 3); }
  Value end() { return entry.getArgument(entry.getNumArguments() - 2); }
  Value scratch() { return entry.getArgument(entry.getNumArguments() - 1); }

  /// Begin and end are only the bounds of the loop over units.
  bool stridesInPlace() {
    auto isBound = [&](Operation *user) {
      auto loop = dyn_cast<scf::ForOp>(user);
      return loop && loop->getBlock() == &entry && loop.getInitArgs().empty() &&
             loop.getLowerBound() == begin() && loop.getUpperBound() == end() &&
             getConstantIntValue(loop.getStep()) == 1;
    };
    return llvm::all_of(begin().getUsers(), isBound) && llvm::all_of(end().getUsers(), isBound);
  }

  /// Names the arguments before `begin` and lists them as parameters.
  SmallVector<std::string> parameters() {
    SmallVector<std::string> list;
    unsigned inputs = kernel.getBody().front().getNumArguments();
    unsigned pointers = inputs + kernel.getBody().front().getTerminator()->getNumOperands();
    arguments.clear();
    for (auto [i, argument] : llvm::enumerate(entry.getArguments().drop_back(3))) {
      bool isPointer = i < pointers, isInput = i < inputs;
      std::string name = isInput     ? "in" + std::to_string(i)
                         : isPointer ? "out" + std::to_string(i - inputs)
                                     : "s" + std::to_string(i - pointers);
      std::string type = CodePrinter::typeOf(argument.getType());
      if (isPointer) {
        type = (isInput ? "const " : "") + type;
        if (function.getArgAttr(static_cast<unsigned>(i), "llvm.noalias"))
          type += "__restrict__ ";
      } else {
        type += ' ';
      }
      list.push_back(type + name);
      arguments.push_back(name);
      printer.name(argument, name);
    }
    return list;
  }

  LogicalResult printUnitFunction() {
    SmallVector<std::string> list = parameters();
    list.push_back("int64_t begin");
    list.push_back("int64_t end");
    if (result.usesScratch)
      list.push_back("uint8_t *scratch");
    printer.name(begin(), "begin");
    printer.name(end(), "end");
    printer.name(scratch(), "scratch");
    os << "static __device__ __forceinline__ void " << result.name << "_units("
       << llvm::join(list, ", ") << ") {\n";
    if (failed(printer.print(entry)))
      return failure();
    os << "}\n\n";
    return success();
  }

  void printHead(bool inPlace) {
    SmallVector<std::string> list = parameters();
    result.slots = static_cast<unsigned>(list.size());
    list.push_back("int64_t units");
    if (result.usesScratch) {
      list.push_back("uint8_t *scratch");
      list.push_back("int64_t scratchBytes");
    }
    if (inPlace)
      printer.name(scratch(), "scratch");
    os << "extern \"C\" __global__ void __launch_bounds__(" << result.threads << ", 1)\n"
       << result.name << '(' << llvm::join(list, ",\n    ") << ") {\n";
  }

  plan::KernelOp kernel;
  func::FuncOp function;
  Block &entry;
  DeviceKernel &result;
  llvm::raw_string_ostream os;
  CodePrinter printer;
  SmallVector<std::string> arguments;
};
} // namespace

FailureOr<DeviceKernel> KernelEmitter::emitGeneric(plan::KernelOp kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc(), kernel.getSymName());
  auto built = buildKernelFunction(kernel, table, VectorTarget::device(), *module);
  if (failed(built))
    return failure();
  std::string name = kernel.getSymName().str();
  // Nothing calls it: it must not be taken for dead.
  built->function.setPublic();
  if (failed(passes.run(*module)))
    return kernel.emitError("cannot simplify this kernel");
  auto function = module->lookupSymbol<func::FuncOp>(name);
  DeviceKernel result;
  result.name = name;
  result.facts = built->facts;
  result.algorithm = "generic";
  result.threads = result.unitsPerBlock = genericThreads;
  result.usesScratch = result.facts.scratchBytes != Expr(0);
  cuda::Prediction prediction =
      cuda::predict(device, genericWork(kernel, function, TemplateWriter::guess(result.facts.units),
                                        genericThreads));
  result.predictedSeconds = prediction.seconds();
  result.choice = prediction.text();
  if (failed(KernelText(kernel, function, result).print()))
    return failure();
  return result;
}

/// Templates count elements and blocks in 32 bits, and a grid has its limits; what
/// is larger goes to the generic kernel, which strides.
static bool countsIn32Bits(plan::KernelOp kernel) {
  auto isSmall = [](Value tensor) {
    auto count = elementCount(shapeOf(tensor)).constant();
    return !count || *count <= std::numeric_limits<int32_t>::max();
  };
  Block &body = kernel.getBody().front();
  return llvm::all_of(body.getArguments(), isSmall) &&
         llvm::all_of(body.getTerminator()->getOperands(), isSmall);
}
static bool fitsGrid(const DeviceKernel &made) {
  constexpr int64_t most[] = {std::numeric_limits<int32_t>::max(), 65535, 65535};
  return llvm::all_of(llvm::zip(*made.grid, most), [](auto pair) {
    return std::get<0>(pair).constant().value_or(0) <= std::get<1>(pair);
  });
}

std::optional<DeviceKernel> KernelEmitter::emitTemplate(plan::KernelOp kernel) {
  std::optional<DeviceKernel> best;
  auto tryAll = [&](StringRef name, Operation *anchor) {
    for (TemplateFn emitTemplate : templates.lookup(name)) {
      TemplateWriter writer(kernel, anchor, table, device, mayRoundToTf32, passes);
      auto made = emitTemplate(writer);
      if (made && fitsGrid(*made) &&
          (!best ||
           made->predictedSeconds.value_or(INFINITY) < best->predictedSeconds.value_or(INFINITY)))
        best = std::move(made);
    }
  };
  if (!countsIn32Bits(kernel))
    return best;
  for (Operation &op : kernel.getBody().front())
    if (const OpKernels *entry = table.find(&op);
        entry && entry->kernel && entry->family == kernel.getFamily())
      tryAll(op.getName().getStringRef(), &op);
  if (kernel.getFamily() == loopFamily)
    tryAll(loopFamily, nullptr);
  return best;
}

static std::string commentOf(plan::KernelOp kernel, const DeviceKernel &made) {
  std::string text = "// " + made.name + " (" + made.algorithm + ")\n";
  if (!made.choice.empty())
    text += "//   " + made.choice + "\n";
  for (const std::string &node : made.nodes)
    text += "//   for " + node + "\n";
  std::string regionText;
  llvm::raw_string_ostream region(regionText);
  for (Operation &op : kernel.getBody().front()) {
    op.print(region, OpPrintingFlags().skipRegions().elideLargeElementsAttrs(4));
    region << '\n';
  }
  SmallVector<StringRef> lines;
  StringRef(regionText).split(lines, '\n', -1, false);
  for (StringRef line : lines)
    text += ("// | " + line.trim() + "\n").str();
  return text;
}

FailureOr<DeviceKernel> KernelEmitter::emit(plan::KernelOp kernel, ArrayRef<std::string> nodes,
                                            bool isAligned) {
  std::optional<DeviceKernel> written;
  // Templates move whole vectors.
  if (isAligned)
    written = emitTemplate(kernel);
  // Loops over elements are what the generic form is good at, too; less than a
  // hundredth is no difference that the model could know.
  constexpr double noDifference = 0.99;
  bool isCertain = written && kernel.getFamily() != loopFamily;
  FailureOr<DeviceKernel> made = failure();
  if (!isCertain)
    made = emitGeneric(kernel);
  if (isCertain || (written && succeeded(made) &&
                    *written->predictedSeconds < noDifference * *made->predictedSeconds))
    made = std::move(*written);
  if (succeeded(made)) {
    made->nodes.assign(nodes.begin(), nodes.end());
    made->comment = commentOf(kernel, *made);
  }
  return made;
}
