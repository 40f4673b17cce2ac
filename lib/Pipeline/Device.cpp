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
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>

using namespace mlir;
using namespace kiln;

/// Facts of a GPU of the first architecture that is asked for.
const cuda::DeviceFacts &Compilation::scheduledDevice() {
  StringRef name = options.cuda.architectures.empty() ? StringRef(options.cuda.simulated)
                                                      : options.cuda.architectures.front();
  const cuda::DeviceFacts *found = cuda::deviceOfArchitecture(name.rtrim('a'));
  return found ? *found : cuda::builtInDevices().front();
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
  KernelEmitter emitter(context, tables.kernels, scheduledDevice());
  for (auto kernel : device->module->getOps<plan::KernelOp>()) {
    auto emitted =
        emitter.emit(kernel, nodes[kernel.getSymName()], !unaligned.contains(kernel.getSymName()));
    if (failed(emitted))
      return fail(Diag::Internal, "a kernel could not be emitted");
    device->kernels.push_back(std::move(*emitted));
  }
  return true;
}

void Compilation::printDeviceKernels(llvm::raw_ostream &os) {
  if (!device)
    return;
  for (const DeviceKernel &kernel : device->kernels)
    os << kernel.text << '\n';
}

namespace {
/// One text for one machine.
struct ImageJob {
  const DeviceKernel *kernel;
  /// Null: the simulator.
  const CudaArchitecture *architecture;
  std::string bytes, error;
};
} // namespace

bool Compilation::compileDeviceKernels() {
  PhaseTimer::Scope scope(timer, "nvcc");
  device->kernels.push_back(checksumKernel());
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
  for (const CudaArchitecture &architecture : architectures)
    for (const DeviceKernel &kernel : device->kernels)
      jobs.push_back({&kernel, &architecture, "", ""});
  if (!options.cuda.simulated.empty())
    for (const DeviceKernel &kernel : device->kernels)
      jobs.push_back({&kernel, nullptr, "", ""});

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
  for (const DeviceKernel &kernel : device->kernels)
    info.kernels.push_back({kernel.name, kernel.threads, kernel.unitsPerBlock, kernel.sharedBytes,
                            kernel.slots, kernel.usesScratch, kernel.grid.has_value()});
  for (ImageJob &job : jobs) {
    if (!job.error.empty()) {
      diags.report(Diag::CudaCompilerFailed, job.kernel->name,
                   job.architecture ? job.architecture->name : "the simulator", job.error);
      return false;
    }
    info.images.push_back({job.architecture ? job.architecture->name : "sim",
                           job.architecture ? KILN_MODULE_IMAGE_CUBIN : KILN_MODULE_IMAGE_SIM,
                           static_cast<unsigned>(job.kernel - device->kernels.data()),
                           std::move(job.bytes)});
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
    facts[kernel.name] = kernel.facts;
    (*deviceLayout.deviceKernels)[kernel.name] = {static_cast<unsigned>(i), kernel.grid};
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
