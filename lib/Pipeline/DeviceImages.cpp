//===- DeviceImages.cpp - A device's kernels become code ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "kiln-c/ModuleABI.h"
#include "kiln/Pipeline/ContentCache.h"
#include "kiln/Pipeline/DeviceReport.h"
#include "kiln/Target/CUDA/Toolchain.h"
#include "kiln/Target/Link/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>

using namespace mlir;
using namespace kiln;

/// One text for one machine.
struct kiln::ImageJob {
  unsigned index;
  const DeviceKernel *kernel;
  /// Null: the simulator.
  const CudaArchitecture *architecture;
  CudaCode code;
  std::string error;
};

/// Of --arch, those that nvcc can make code for.
bool Compilation::findArchitectures(const CudaToolchain &toolchain,
                                    std::vector<CudaArchitecture> &architectures) {
  for (const std::string &name : options.cuda.architectures)
    architectures.push_back(llvm::cantFail(CudaArchitecture::parse(name)));
  if (architectures.empty())
    return true;
  auto nvcc = toolchain.nvcc();
  if (!nvcc) {
    diags.report(Diag::NoCudaCompiler, llvm::toString(nvcc.takeError()));
    return false;
  }
  llvm::VersionTuple found = toolchain.version();
  if (found.empty()) {
    diags.report(Diag::NoCudaCompiler, "'" + *nvcc + " --version' does not say its version");
    return false;
  }
  for (const CudaArchitecture &architecture : architectures)
    if (found < architecture.firstNvcc)
      diags.report(Diag::CudaCompilerTooOld, found.getAsString(), *nvcc, architecture.name,
                   architecture.firstNvcc.getAsString());
  return !diags.hasErrors();
}

// An entry of the cache: the report's length, the report, the image.

static std::string encode(const CudaCode &code) {
  char length[8];
  llvm::support::endian::write64le(length, code.report.size());
  return std::string(length, sizeof(length)) + code.report + code.image;
}

static std::optional<CudaCode> decode(StringRef bytes) {
  if (bytes.size() < 8)
    return std::nullopt;
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  bytes = bytes.drop_front(8);
  if (length > bytes.size())
    return std::nullopt;
  return CudaCode{bytes.drop_front(length).str(), bytes.take_front(length).str(), ""};
}

static llvm::Error compile(const CudaToolchain &toolchain, ImageJob &job, bool keepPtx) {
  if (job.architecture) {
    auto code = toolchain.compile(job.kernel->text, *job.architecture, keepPtx);
    if (!code)
      return code.takeError();
    job.code = std::move(*code);
    return llvm::Error::success();
  }
  auto image = toolchain.compileForSimulator(job.kernel->text, job.kernel->name);
  if (!image)
    return image.takeError();
  job.code.image = std::move(*image);
  return llvm::Error::success();
}

/// The jobs' code, from the cache or from compilers.
size_t Compilation::runImageJobs(const CudaToolchain &toolchain, MutableArrayRef<ImageJob> jobs) {
  std::optional<ContentCache> cache;
  if (!options.cacheFolder.empty())
    cache.emplace(options.cacheFolder, options.cacheLimit);
  bool keepPtx = !options.tempsStem.empty();
  std::mutex lock;
  size_t hits = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
  for (ImageJob &job : jobs)
    pool.async([&] {
      std::string machine =
          job.architecture ? toolchain.identity(*job.architecture) : toolchain.simulatorIdentity();
      std::string key =
          cache ? ContentCache::keyOfContent({"cuda-1", machine, job.kernel->text}) : "";
      // PTX is not in the cache.
      if (cache && !(keepPtx && job.architecture))
        if (auto bytes = cache->loadBytes(key))
          if (auto found = decode(*bytes)) {
            std::lock_guard<std::mutex> guard(lock);
            job.code = std::move(*found);
            ++hits;
            return;
          }
      if (llvm::Error error = compile(toolchain, job, keepPtx)) {
        job.error = llvm::toString(std::move(error));
        return;
      }
      std::lock_guard<std::mutex> guard(lock);
      if (cache)
        cache->storeBytes(key, encode(job.code));
    });
  pool.wait();
  if (cache)
    cache->trim();
  return hits;
}

std::string Compilation::kernelTemp(const DeviceKernel &kernel, StringRef suffix) const {
  return (options.tempsStem + ".cuda/" + kernel.name + suffix).str();
}

bool Compilation::writeKernelTemp(const DeviceKernel &kernel, StringRef suffix, StringRef text) {
  std::string file = kernelTemp(kernel, suffix);
  if (std::error_code code = llvm::sys::fs::create_directories(llvm::sys::path::parent_path(file)))
    return failToWrite(file, llvm::createStringError(code, code.message()));
  llvm::Error error = writeFileAtomically(file, text);
  return error ? failToWrite(file, std::move(error)) : true;
}

bool Compilation::writeKernelTemps(const CudaToolchain &toolchain, ArrayRef<ImageJob> jobs) {
  bool canDisassemble = true;
  for (const ImageJob &job : jobs) {
    if (!job.architecture)
      continue;
    std::string arch = "." + job.architecture->name;
    if (!writeKernelTemp(*job.kernel, arch + ".ptx", job.code.ptx))
      return false;
    if (job.architecture->isPtx)
      continue;
    if (!writeKernelTemp(*job.kernel, arch + ".ptxas.txt", job.code.report + "\n"))
      return false;
    if (!canDisassemble)
      continue;
    auto sass = toolchain.disassemble(job.code.image);
    if (!sass) {
      // The other kernels' would fail alike.
      diags.report(Diag::NoDisassembly, llvm::toString(sass.takeError()));
      canDisassemble = false;
      continue;
    }
    if (!writeKernelTemp(*job.kernel, arch + ".sass", *sass + "\n"))
      return false;
  }
  return true;
}

bool Compilation::failToCompile(const ImageJob &job) {
  std::string kept = kernelTemp(*job.kernel, ".cu");
  if (options.tempsStem.empty()) {
    SmallString<128> file;
    int descriptor;
    kept.clear();
    if (!llvm::sys::fs::createTemporaryFile(job.kernel->name, "cu", descriptor, file)) {
      llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
      os << job.kernel->comment << job.kernel->text;
      kept = std::string(file);
    }
  }
  kiln::Diagnostic &diag =
      diags.report(Diag::CudaCompilerFailed, job.kernel->name,
                   job.architecture ? job.architecture->name : "the simulator", job.error);
  for (const std::string &node : job.kernel->nodes)
    diag.note("it is for " + node);
  if (!kept.empty())
    diag.note("the code is in '" + kept + "'");
  return false;
}

static void addRow(DeviceReport &report, const ImageJob &job, StringRef simulated) {
  DeviceReportRow row;
  const DeviceKernel &kernel = *job.kernel;
  row.kernel = kernel.name;
  row.algorithm = kernel.algorithm;
  row.architecture = job.architecture ? job.architecture->name : ("sim:" + simulated).str();
  row.nodes = kernel.nodes;
  row.choice = kernel.choice;
  row.predictedSeconds = kernel.predictedSeconds;
  row.threads = kernel.threads;
  row.dynamicSharedBytes = kernel.sharedBytes;
  row.resources = parseKernelResources(job.code.report);
  const cuda::DeviceFacts *facts =
      row.resources ? cuda::deviceOfArchitecture(row.architecture) : nullptr;
  if (facts) {
    row.device = facts->name;
    row.occupancy = cuda::occupancyOf(*facts, static_cast<int>(kernel.threads),
                                      static_cast<int>(row.resources->registers),
                                      row.resources->staticSharedBytes + kernel.sharedBytes);
  }
  report.rows.push_back(std::move(row));
}

bool Compilation::compileDeviceKernels() {
  PhaseTimer::Scope scope(timer, "nvcc");
  device->kernels.push_back({{checksumKernel()}, std::vector<unsigned>(machines().size(), 0)});
  CudaToolchain toolchain(options.cuda.toolkit);
  std::vector<CudaArchitecture> architectures;
  if (!findArchitectures(toolchain, architectures))
    return false;
  std::vector<ImageJob> jobs;
  for (auto [index, kernel] : llvm::enumerate(device->kernels))
    for (auto [machine, chosen] : llvm::enumerate(kernel.formOf)) {
      const DeviceKernel &form = kernel.forms[chosen];
      if (!options.tempsStem.empty() &&
          !writeKernelTemp(form,
                           kernel.forms.size() > 1 ? "." + machines()[machine] + ".cu" : ".cu",
                           form.comment + form.text))
        return false;
      jobs.push_back({static_cast<unsigned>(index),
                      &form,
                      machine < architectures.size() ? &architectures[machine] : nullptr,
                      {},
                      ""});
    }
  size_t hits = runImageJobs(toolchain, jobs);
  timer.annotate(std::to_string(jobs.size()) + ", " + std::to_string(hits) + " cached");
  for (const ImageJob &job : jobs)
    if (!job.error.empty())
      return failToCompile(job);
  if (!options.tempsStem.empty() && !writeKernelTemps(toolchain, jobs))
    return false;

  DeviceInfo &info = device->info;
  for (const DeviceForms &kernel : device->kernels)
    info.kernels.push_back({kernel.forms[0].name, kernel.forms[0].slots,
                            static_cast<unsigned>(gridsOf(kernel).size())});
  for (ImageJob &job : jobs) {
    if (options.deviceReport)
      addRow(*options.deviceReport, job, options.cuda.simulated);
    const DeviceKernel &form = *job.kernel;
    DeviceInfo::Image &image = info.images.emplace_back();
    image.arch = job.architecture ? job.architecture->name : "sim";
    image.kind = !job.architecture         ? KILN_MODULE_IMAGE_SIM
                 : job.architecture->isPtx ? KILN_MODULE_IMAGE_PTX
                                           : KILN_MODULE_IMAGE_CUBIN;
    image.kernel = job.index;
    image.threads = form.threads;
    image.unitsPerBlock = form.unitsPerBlock;
    image.sharedBytes = form.sharedBytes;
    image.usesScratch = form.usesScratch;
    if (form.grid) {
      auto grids = gridsOf(device->kernels[job.index]);
      image.grid = static_cast<unsigned>(llvm::find(grids, *form.grid) - grids.begin()) + 1;
    }
    image.bytes = std::move(job.code.image);
  }
  info.driver = "kiln_cuda_driver";
  return true;
}
