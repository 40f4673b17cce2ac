//===- Device.cpp - The plan for a device beside the CPU's ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "kiln-c/ModuleABI.h"
#include "kiln/Pipeline/ContentCache.h"
#include "kiln/Target/CUDA/Toolchain.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>

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
  const cuda::DeviceFacts *found = cuda::deviceOfArchitecture(architecture);
  return found ? *found : cuda::builtInDevices().front();
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

/// Whether two forms of a kernel compile to the same and are launched alike.
static bool areEqual(const DeviceKernel &a, const DeviceKernel &b) {
  return a.text == b.text && a.threads == b.threads && a.sharedBytes == b.sharedBytes &&
         a.unitsPerBlock == b.unitsPerBlock && a.usesScratch == b.usesScratch && a.grid == b.grid;
}

bool Compilation::emitDeviceKernels() {
  PhaseTimer::Scope scope(timer, "cu");
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

namespace {
/// One text for one machine.
struct ImageJob {
  unsigned index;
  const DeviceKernel *kernel;
  /// Null: the simulator.
  const CudaArchitecture *architecture;
  std::string bytes, error;
};
} // namespace

/// The grids that the forms of a kernel have, each once.
std::vector<std::array<Expr, 3>> Compilation::gridsOf(const DeviceForms &kernel) {
  std::vector<std::array<Expr, 3>> grids;
  for (const DeviceKernel &form : kernel.forms)
    if (form.grid && !llvm::is_contained(grids, *form.grid))
      grids.push_back(*form.grid);
  return grids;
}

bool Compilation::compileDeviceKernels() {
  PhaseTimer::Scope scope(timer, "nvcc");
  std::vector<CudaArchitecture> architectures;
  for (const std::string &name : options.cuda.architectures)
    architectures.push_back(llvm::cantFail(CudaArchitecture::parse(name)));
  CudaToolchain toolchain(options.cuda.toolkit);
  if (!architectures.empty())
    if (auto nvcc = toolchain.nvcc(); !nvcc) {
      diags.report(Diag::NoCudaCompiler, llvm::toString(nvcc.takeError()));
      return false;
    }
  std::vector<ImageJob> jobs;
  for (auto [index, kernel] : llvm::enumerate(device->kernels))
    for (auto [machine, form] : llvm::enumerate(kernel.formOf))
      jobs.push_back({static_cast<unsigned>(index), &kernel.forms[form],
                      machine < architectures.size() ? &architectures[machine] : nullptr, "", ""});

  std::optional<ContentCache> cache;
  if (!options.cacheFolder.empty())
    cache.emplace(options.cacheFolder, options.cacheLimit);
  std::mutex lock;
  size_t hits = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
  for (ImageJob &job : jobs)
    pool.async([&] {
      std::string machine =
          job.architecture ? toolchain.identity(*job.architecture) : toolchain.simulatorIdentity();
      std::string key = cache ? ContentCache::keyOf({"cuda", machine, job.kernel->text}) : "";
      if (!key.empty())
        if (auto found = cache->loadBytes(key)) {
          std::lock_guard<std::mutex> guard(lock);
          job.bytes = std::move(*found);
          ++hits;
          return;
        }
      auto bytes = job.architecture
                       ? toolchain.compile(job.kernel->text, *job.architecture)
                       : toolchain.compileForSimulator(job.kernel->text, job.kernel->name);
      if (!bytes) {
        job.error = llvm::toString(bytes.takeError());
        return;
      }
      job.bytes = std::move(*bytes);
      std::lock_guard<std::mutex> guard(lock);
      if (!key.empty())
        cache->storeBytes(key, job.bytes);
    });
  pool.wait();
  if (cache)
    cache->trim();
  timer.annotate(std::to_string(jobs.size()) + ", " + std::to_string(hits) + " cached");

  DeviceInfo &info = device->info;
  for (const DeviceForms &kernel : device->kernels)
    info.kernels.push_back({kernel.forms[0].name, kernel.forms[0].slots,
                            static_cast<unsigned>(gridsOf(kernel).size())});
  for (ImageJob &job : jobs) {
    if (!job.error.empty()) {
      diags.report(Diag::CudaCompilerFailed, job.kernel->name,
                   job.architecture ? job.architecture->name : "the simulator", job.error);
      return false;
    }
    const DeviceKernel &form = *job.kernel;
    DeviceInfo::Image &image = info.images.emplace_back();
    image.arch = job.architecture ? job.architecture->name : "sim";
    image.kind = job.architecture ? KILN_MODULE_IMAGE_CUBIN : KILN_MODULE_IMAGE_SIM;
    image.kernel = job.index;
    image.threads = form.threads;
    image.unitsPerBlock = form.unitsPerBlock;
    image.sharedBytes = form.sharedBytes;
    image.usesScratch = form.usesScratch;
    if (form.grid) {
      auto grids = gridsOf(device->kernels[job.index]);
      image.grid = static_cast<unsigned>(llvm::find(grids, *form.grid) - grids.begin()) + 1;
    }
    image.bytes = std::move(job.bytes);
  }
  info.driver = "kiln_cuda_driver";
  return true;
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
