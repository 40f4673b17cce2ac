//===- Device.cpp - The plan for a device beside the CPU's ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Target/CUDA/AttentionTemplate.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace kiln;

/// What code is made for: the architectures, and last the simulated one.
std::vector<std::string> Compilation::machines() const {
  std::vector<std::string> names = options.cuda.architectures;
  if (!options.cuda.simulated.empty())
    names.push_back(options.cuda.simulated);
  return names;
}

/// A GPU of the architecture; any, where none of it is known.
static const cuda::DeviceFacts &scheduledDevice(StringRef architecture) {
  bool isPtx = architecture.consume_front("compute_");
  const cuda::DeviceFacts *found =
      cuda::deviceOfArchitecture(((isPtx ? "sm_" : "") + architecture).str());
  return found ? *found : cuda::builtInDevices().front();
}

PredictionRates Compilation::deviceRates() const {
  PredictionRates mean{0, cuda::launchSeconds() * 1e12, ""};
  std::vector<std::string> names = machines();
  for (const std::string &name : names) {
    const cuda::DeviceFacts &device = scheduledDevice(name);
    mean.picosecondsPerByte +=
        1e12 / cuda::reachableBandwidth(device) / static_cast<double>(names.size());
    mean.device += (mean.device.empty() ? "" : ", ") + device.name;
  }
  return mean;
}

bool Compilation::checkPrecision() {
  static constexpr std::tuple<Precision, cuda::Unit, StringLiteral> units[] = {
      {Precision::Tf32, cuda::Unit::tf32, "tf32"},
      {Precision::Bf16, cuda::Unit::bf16, "bf16"},
      {Precision::Fp16, cuda::Unit::f16, "fp16"}};
  for (auto &[precision, unit, name] : units)
    for (const std::string &machine : machines())
      if (precision == options.cuda.precision && scheduledDevice(machine).rate(unit) == 0) {
        diags.report(Diag::NoTensorUnit, name, machine);
        return false;
      }
  return true;
}

/// Whether templates take what no generic kernel computes: attention, and norms in front of
/// products.
bool Compilation::haveTemplates(ModuleOp graph) const {
  std::vector<std::string> names = machines();
  auto isTaken = [&](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return llvm::all_of(names, [&](const std::string &machine) {
        return takesAttention(attention, scheduledDevice(machine));
      });
    auto fusion = dyn_cast<FusionOp>(op);
    bool isNormLinear = fusion && fusion.getRule() && fusion.getRule()->ends_with("_linear");
    return !isNormLinear || elementTypeOf(fusion->getResult(0)).isF32();
  };
  WalkResult walked = graph.walk(
      [&](Operation *op) { return isTaken(op) ? WalkResult::advance() : WalkResult::interrupt(); });
  return !walked.wasInterrupted();
}

/// Whether two forms of a kernel compile to the same and are launched alike.
static bool areEqual(const DeviceKernel &a, const DeviceKernel &b) {
  return a.text == b.text && a.threads == b.threads && a.sharedBytes == b.sharedBytes &&
         a.unitsPerBlock == b.unitsPerBlock && a.usesScratch == b.usesScratch && a.grid == b.grid;
}

/// Of the devices of an architecture, the one with most memory; null if none is known.
static const cuda::DeviceFacts *largestDevice(StringRef architecture) {
  const cuda::DeviceFacts *any = cuda::deviceOfArchitecture(architecture), *largest = any;
  for (const cuda::DeviceFacts &device : cuda::builtInDevices())
    if (any && device.architecture == any->architecture &&
        device.memoryBytes > largest->memoryBytes)
      largest = &device;
  return largest;
}

/// Refuses what no known device of an architecture can hold. Symbols count as the
/// least that --dim allows.
bool Compilation::checkDeviceMemory() {
  plan::ProgramOp program = programOf(*device->module);
  ProgramLayout planned = layoutProgram(program);
  auto bytes = [&](Type tensor) {
    return std::max<int64_t>(bytesOf(tensor).evaluate([&](StringRef symbol) {
      auto range = options.import.dims.find(symbol.str());
      return range == options.import.dims.end() ? 1 : range->second.lower;
    }),
                             0);
  };
  int64_t weights = 0, ends = 0, live = 0, buffers = 0;
  for (const ProgramLayout::Weight &weight : planned.weights)
    weights += bytes(weight.value.getType());
  for (Type tensor : program.getBody().getArgumentTypes())
    ends += bytes(tensor);
  for (Type tensor : planned.outputs)
    ends += bytes(tensor);
  std::map<uint32_t, int64_t> changes;
  for (const ProgramLayout::ArenaBuffer &buffer : planned.arena) {
    changes[buffer.first] += bytes(buffer.type);
    changes[buffer.last + 1] -= bytes(buffer.type);
  }
  for (auto [step, change] : changes)
    buffers = std::max(buffers, live += change);

  auto text = [](int64_t bytes) {
    return llvm::formatv("{0:f2} GB", static_cast<double>(bytes) * 1e-9).str();
  };
  for (const std::string &name : machines())
    if (const cuda::DeviceFacts *facts = largestDevice(name);
        facts && weights + buffers + ends > facts->memoryBytes)
      diags.report(Diag::ModelTooLarge, text(weights + buffers + ends), text(weights),
                   text(buffers), text(ends), facts->name, name, text(facts->memoryBytes));
  return !diags.hasErrors();
}

/// Kernels get the number of their content instead of their place in the model:
/// what two models have in common is one text, which is compiled once.
static void nameByContent(ModuleOp module, plan::ProgramOp program) {
  llvm::StringMap<std::string> names;
  llvm::StringSet<> taken;
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    std::string old = kernel.getSymName().str(), text;
    kernel.setSymName("kernel");
    llvm::raw_string_ostream os(text);
    kernel->print(os, OpPrintingFlags().useLocalScope());
    auto digest = llvm::BLAKE3::hash<4>(llvm::arrayRefFromStringRef(withoutResourceNames(text)));
    std::string stem =
        (StringRef(old).rsplit('_').first + "_" + llvm::toHex(digest, /*LowerCase=*/true)).str();
    // Elements of resources are not in the text.
    std::string name = stem;
    for (unsigned i = 2; !taken.insert(name).second; ++i)
      name = stem + "_" + std::to_string(i);
    kernel.setSymName(name);
    names[old] = name;
  }
  program.getBody().walk(
      [&](plan::LaunchOp launch) { launch.setKernel(names[launch.getKernel()]); });
}

bool Compilation::emitDeviceKernels() {
  PhaseTimer::Scope scope(timer, "cu");
  nameByContent(*device->module, programOf(*device->module));
  complaints.clear();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
  llvm::StringMap<std::vector<std::string>> nodes;
  programOf(*device->module).getBody().walk([&](plan::LaunchOp launch) {
    nodes[launch.getKernel()].push_back(launch.getNodes().str());
  });
  // Element i of a stack starts where element i - 1 ends.
  llvm::StringSet<> unaligned;
  programOf(*device->module).getBody().walk([&](plan::LaunchOp launch) {
    for (Value operand : launch->getOperands()) {
      while (auto view = operand.getDefiningOp<plan::ViewOp>())
        operand = view.getSource();
      if (operand.getDefiningOp<plan::SlotOp>())
        unaligned.insert(launch.getKernel());
    }
  });
  // One for each device that stands for an architecture; machines share them.
  llvm::MapVector<const cuda::DeviceFacts *, std::unique_ptr<KernelEmitter>> emitters;
  for (const std::string &machine : machines()) {
    const cuda::DeviceFacts &facts = scheduledDevice(machine);
    if (auto &emitter = emitters[&facts]; !emitter)
      emitter = std::make_unique<KernelEmitter>(context, tables.kernels, facts,
                                                options.cuda.precision == Precision::Tf32);
  }
  for (auto kernel : device->module->getOps<plan::KernelOp>()) {
    StringRef name = kernel.getSymName();
    DeviceForms &made = device->kernels.emplace_back();
    llvm::DenseMap<const cuda::DeviceFacts *, unsigned> formOf;
    for (auto &[facts, emitter] : emitters) {
      auto emitted = emitter->emit(kernel, nodes[name], !unaligned.contains(name));
      if (failed(emitted))
        return fail(Diag::Internal, "a kernel could not be emitted");
      auto known = llvm::find_if(
          made.forms, [&](const DeviceKernel &form) { return areEqual(form, *emitted); });
      formOf[facts] = static_cast<unsigned>(known - made.forms.begin());
      if (known == made.forms.end())
        made.forms.push_back(std::move(*emitted));
    }
    for (const std::string &machine : machines())
      made.formOf.push_back(formOf.lookup(&scheduledDevice(machine)));
  }
  return true;
}

void Compilation::printDeviceKernels(llvm::raw_ostream &os) {
  if (!device)
    return;
  std::vector<std::string> names = machines();
  for (const DeviceForms &kernel : device->kernels)
    for (auto [i, form] : llvm::enumerate(kernel.forms)) {
      if (kernel.forms.size() > 1) {
        os << "// For";
        for (auto [name, chosen] : llvm::zip_equal(names, kernel.formOf))
          if (chosen == i)
            os << ' ' << name;
        os << ":\n";
      }
      os << form.comment << form.text << '\n';
    }
}

/// The grids that the forms of a kernel have, each once.
std::vector<std::array<Expr, 3>> Compilation::gridsOf(const DeviceForms &kernel) {
  std::vector<std::array<Expr, 3>> grids;
  for (const DeviceKernel &form : kernel.forms)
    if (form.grid && !llvm::is_contained(grids, *form.grid))
      grids.push_back(*form.grid);
  return grids;
}

void Compilation::buildDeviceProgram(ModuleOp into) {
  llvm::StringMap<KernelFacts> facts;
  ProgramLayout &deviceLayout = device->layout;
  deviceLayout.prefix = "kiln_generated_device_";
  deviceLayout.deviceKernels.emplace();
  for (auto [i, kernel] : llvm::enumerate(device->kernels)) {
    // Units matter, and scratch, where the launch does not name its blocks.
    auto counted = llvm::find_if(kernel.forms, [](const auto &form) { return !form.grid; });
    const DeviceKernel &form = counted == kernel.forms.end() ? kernel.forms[0] : *counted;
    facts[form.name] = form.facts;
    (*deviceLayout.deviceKernels)[form.name] = {static_cast<unsigned>(i), gridsOf(kernel)};
  }
  buildProgram(programOf(*device->module), deviceLayout, facts, into);
}

llvm::Constant *Compilation::addDevice(llvm::Module &into) {
  ModuleInfo deviceInfo = info;
  std::string names;
  for (const std::string &name : options.cuda.architectures)
    names += (names.empty() ? "" : ",") + name;
  deviceInfo.target = "cuda " + names;
  // The artefact has one, which the CPU's plan points to.
  deviceInfo.manifest.clear();
  llvm::Constant *plan =
      addModuleTable(programOf(*device->module), device->layout, deviceInfo, nullptr, into);
  return addDeviceTable(plan, device->info, into);
}
