//===- Device.cpp - The plan for a device beside the CPU's ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln-c/ModuleABI.h"
#include "kiln/Pipeline/ContentCache.h"
#include "kiln/Pipeline/DeviceReport.h"
#include "kiln/Target/CUDA/AttentionTemplate.h"
#include "kiln/Target/CUDA/Toolchain.h"
#include "kiln/Target/Link/OutputFile.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include <map>
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

/// One text for one machine.
struct kiln::ImageJob {
  unsigned index;
  const DeviceKernel *kernel;
  /// Null: the simulator.
  const CudaArchitecture *architecture;
  CudaCode code;
  std::string error;
};

/// The grids that the forms of a kernel have, each once.
std::vector<std::array<Expr, 3>> Compilation::gridsOf(const DeviceForms &kernel) {
  std::vector<std::array<Expr, 3>> grids;
  for (const DeviceKernel &form : kernel.forms)
    if (form.grid && !llvm::is_contained(grids, *form.grid))
      grids.push_back(*form.grid);
  return grids;
}

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
  bool disassembles = true;
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
    if (!disassembles)
      continue;
    if (auto sass = toolchain.disassemble(job.code.image)) {
      if (!writeKernelTemp(*job.kernel, arch + ".sass", *sass + "\n"))
        return false;
    } else {
      // The other kernels' would fail alike.
      diags.report(Diag::NoDisassembly, llvm::toString(sass.takeError()));
      disassembles = false;
    }
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
