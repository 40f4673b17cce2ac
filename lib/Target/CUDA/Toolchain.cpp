//===- Toolchain.cpp - Compilers of emitted kernels -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CUDA/Toolchain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <map>

using namespace llvm;
using namespace kiln;

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

namespace {
struct Known {
  StringLiteral name;
  /// The first nvcc that knows it, by NVIDIA's release notes, but at least 12.0:
  /// kernels use what its headers of half types have.
  unsigned major, minor;
};
} // namespace

static constexpr Known architectures[] = {{"sm_75", 12, 0},  {"sm_80", 12, 0},   {"sm_86", 12, 0},
                                          {"sm_89", 12, 0},  {"sm_90", 12, 0},   {"sm_90a", 12, 0},
                                          {"sm_100", 12, 8}, {"sm_100a", 12, 8}, {"sm_120", 12, 8}};

Expected<CudaArchitecture> CudaArchitecture::parse(StringRef name) {
  StringRef digits = name;
  bool isPtx = digits.consume_front("compute_");
  if (!isPtx)
    digits.consume_front("sm_");
  const Known *known = find_if(architectures, [&](const Known &k) {
    return name == (isPtx ? "compute_" + digits : Twine(k.name)).str() &&
           k.name.drop_front(StringRef("sm_").size()) == digits;
  });
  if (known == std::end(architectures)) {
    std::string list;
    for (const Known &k : architectures)
      list += (list.empty() ? "" : ", ") + k.name.str();
    return createStringError("unknown architecture '" + name + "'; known: " + list +
                             "; compute_80, for one, for PTX");
  }
  if (isPtx && !isDigit(digits.back()))
    return createStringError("'" + name + "': what is for " + known->name +
                             " alone runs on no later device; write compute_" + digits.drop_back());
  CudaArchitecture result;
  result.name = name.str();
  result.isPtx = isPtx;
  result.firstNvcc = VersionTuple(known->major, known->minor);
  digits.consumeInteger(10, result.number);
  return result;
}

/// Of the headers of kernels, in the order in which they are searched.
static constexpr StringLiteral headerFolders[] = {
    "/lib/Target/CUDA/Device", "/lib/Target/CUDA/Kernels", "/runtime/drivers/cudasim/shim"};

static std::string digestOfHeaders(StringRef root);

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::string inFolder(StringRef folder, StringRef program) {
  SmallString<128> path(folder);
  sys::path::append(path, "bin", program);
  return sys::fs::can_execute(path) ? std::string(path) : "";
}

/// Where tools/dev/cuda installs.
static std::string packageFolder() {
  SmallString<128> path;
  if (!sys::path::cache_directory(path))
    return "";
  sys::path::append(path, "kiln", "cuda");
  return std::string(path);
}

std::string CudaToolchain::findProgram(StringRef name) const {
  if (!cudaPath.empty())
    return inFolder(cudaPath, name);
  if (const char *home = std::getenv("CUDA_HOME"))
    if (std::string path = inFolder(home, name); !path.empty())
      return path;
  if (auto path = sys::findProgramByName(name))
    return *path;
  for (const std::string &folder : {std::string("/usr/local/cuda"), packageFolder()})
    if (std::string path = inFolder(folder, name); !path.empty())
      return path;
  return "";
}

/// What a program prints, or nothing.
static std::string outputOf(ArrayRef<StringRef> command) {
  SmallString<128> file;
  if (sys::fs::createTemporaryFile("kiln", "txt", file))
    return "";
  scope_exit cleanup([&] { sys::fs::remove(file); });
  std::optional<StringRef> redirects[] = {StringRef(""), file.str(), StringRef("")};
  if (sys::ExecuteAndWait(command[0], command, std::nullopt, redirects, /*SecondsToWait=*/30))
    return "";
  auto text = MemoryBuffer::getFile(file);
  return text ? (*text)->getBuffer().str() : "";
}

CudaToolchain::CudaToolchain(StringRef cudaPath)
    : cudaPath(cudaPath), nvccPath(findProgram("nvcc")) {
  if (!nvccPath.empty())
    nvccVersion = outputOf({nvccPath, "--version"});
  headerDigest = digestOfHeaders(headers());
}

Expected<std::string> CudaToolchain::nvcc() const {
  if (nvccPath.empty())
    return createStringError(
        cudaPath.empty() ? std::string("nvcc is not in $CUDA_HOME/bin, $PATH, /usr/local/cuda/bin "
                                       "or ") +
                               packageFolder() + "/bin; tools/dev/cuda installs it"
                         : "there is no nvcc in '" + cudaPath + "/bin'");
  return nvccPath;
}

VersionTuple CudaToolchain::version() const {
  // "Cuda compilation tools, release 13.0, V13.0.88"
  VersionTuple version;
  StringRef text = StringRef(nvccVersion).split(" release ").second;
  if (version.tryParse(text.take_while([](char c) { return isDigit(c) || c == '.'; })))
    return {};
  return version;
}

std::string CudaToolchain::headers() const {
  if (const char *folder = std::getenv("KILN_CUDA_HEADERS"))
    return folder;
  // Beside an installed program, else in the tree that it was built from.
  SmallString<128> path(sys::fs::getMainExecutable(nullptr, nullptr));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "share", "kiln", "cuda");
  return sys::fs::is_directory(path) ? std::string(path) : KILN_SOURCE_DIR;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static constexpr StringLiteral nvccFlags[] = {
    "-std=c++17", "-O3", "-fmad=false", "-Wno-deprecated-gpu-targets", "--expt-relaxed-constexpr"};

/// -ffp-contract=off and -fmad=false: sums of products mean the same on both.
static constexpr StringLiteral simulatorFlags[] = {
    "-shared",
#define KILN_SIM_FLAG(flavour, flag) flag,
#include "Device/SimulatorFlags.def"
};

/// Of all files that kernels may include: kernels in a cache were made from them.
static std::string digestOfHeaders(StringRef root) {
  std::map<std::string, std::string> files;
  for (StringRef folder : headerFolders) {
    std::error_code code;
    for (sys::fs::recursive_directory_iterator file((root + folder).str(), code), end;
         file != end && !code; file.increment(code))
      if (file->type() == sys::fs::file_type::regular_file)
        if (auto text = MemoryBuffer::getFile(file->path()))
          files[StringRef(file->path()).drop_front(root.size()).str()] = (*text)->getBuffer().str();
  }
  BLAKE3 hash;
  for (const auto &[path, text] : files) {
    hash.update(path);
    hash.update(StringRef("\0", 1));
    hash.update(text);
  }
  return toHex(hash.final());
}

std::string CudaToolchain::identity(const CudaArchitecture &architecture) const {
  return nvccVersion + join(ArrayRef(nvccFlags), " ") + architecture.name + headerDigest;
}

std::string CudaToolchain::simulatorIdentity() const {
  return join(ArrayRef(simulatorFlags), " ") + headerDigest;
}

namespace {
/// A temporary folder in which one tool runs.
class ToolFolder {
public:
  ToolFolder() : problem(sys::fs::createUniqueDirectory("kiln-cuda", folder)) {}
  ~ToolFolder() {
    if (!problem)
      sys::fs::remove_directories(folder);
  }
  ToolFolder(const ToolFolder &) = delete;
  ToolFolder &operator=(const ToolFolder &) = delete;

  std::string at(StringRef name) const {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return std::string(path);
  }
  Error write(StringRef name, StringRef bytes) const {
    if (problem)
      return createStringError(problem, "cannot make a temporary folder: " + problem.message());
    std::error_code code;
    raw_fd_ostream file(at(name), code);
    file << bytes;
    file.close();
    if (!code && !file.has_error())
      return Error::success();
    file.clear_error();
    return createStringError("cannot write '" + at(name) + "'");
  }
  Expected<std::string> read(StringRef name) const {
    auto bytes = MemoryBuffer::getFile(at(name));
    if (!bytes)
      return createStringError("there is no '" + name + "'");
    return (*bytes)->getBuffer().str();
  }

  /// What the program says.
  Expected<std::string> run(StringRef program, ArrayRef<std::string> arguments) const {
    SmallVector<StringRef> command{program};
    command.append(arguments.begin(), arguments.end());
    std::string log = at("log"), text;
    std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
    int code = sys::ExecuteAndWait(program, command, std::nullopt, redirects,
                                   /*SecondsToWait=*/600, 0, &text);
    auto said = MemoryBuffer::getFile(log);
    StringRef output = said ? (*said)->getBuffer().rtrim() : "";
    if (code == 0)
      return output.str();
    if (text.empty())
      text = (program + " failed").str();
    return createStringError(text + (output.empty() ? "" : ":\n") + output.take_front(4000));
  }

private:
  SmallString<128> folder;
  std::error_code problem;
};
} // namespace

/// "ptxas info    : Used 32 registers, used 1 barriers, 512 bytes smem"
static unsigned numberBefore(StringRef text, StringRef words) {
  unsigned number = 0;
  size_t at = text.find(words);
  if (at == StringRef::npos)
    return 0;
  StringRef before = text.take_front(at).rtrim();
  before = before.take_back(before.size() - before.find_last_not_of("0123456789") - 1);
  return before.getAsInteger(10, number) ? 0 : number;
}

std::optional<KernelResources> kiln::parseKernelResources(StringRef report) {
  report = report.substr(report.find("Compiling entry function"));
  if (!report.contains(" registers"))
    return std::nullopt;
  KernelResources result;
  result.registers = numberBefore(report, " registers");
  result.stackBytes = numberBefore(report, " bytes stack frame");
  result.spillBytes =
      numberBefore(report, " bytes spill stores") + numberBefore(report, " bytes spill loads");
  result.staticSharedBytes = numberBefore(report, " bytes smem");
  return result;
}

Expected<CudaCode> CudaToolchain::compile(StringRef text, const CudaArchitecture &architecture,
                                          bool keepPtx) const {
  auto program = nvcc();
  if (!program)
    return program.takeError();
  ToolFolder place;
  if (Error error = place.write("kernel.cu", text))
    return error;
  std::vector<std::string> arguments(std::begin(nvccFlags), std::end(nvccFlags));
  arguments.push_back("-arch=" + architecture.name);
  for (StringRef folder : headerFolders)
    arguments.push_back("-I" + headers() + folder.str());
  if (!architecture.isPtx)
    arguments.insert(arguments.end(), {"-Xptxas", "-v"});
  if (keepPtx && !architecture.isPtx)
    arguments.insert(arguments.end(), {"--keep", "--keep-dir", place.at("")});
  StringRef result = architecture.isPtx ? "image.ptx" : "image.cubin";
  arguments.insert(arguments.end(), {architecture.isPtx ? "-ptx" : "-cubin", place.at("kernel.cu"),
                                     "-o", place.at(result)});
  auto said = place.run(*program, arguments);
  if (!said)
    return said.takeError();
  auto image = place.read(result);
  if (!image)
    return image.takeError();
  CudaCode code{std::move(*image), architecture.isPtx ? "" : std::move(*said), ""};
  if (architecture.isPtx)
    code.ptx = code.image;
  else if (keepPtx) {
    auto ptx = place.read("kernel.ptx");
    if (!ptx)
      return ptx.takeError();
    code.ptx = std::move(*ptx);
  }
  return code;
}

Expected<std::string> CudaToolchain::disassemble(StringRef cubin) const {
  std::string program = findProgram("nvdisasm");
  if (program.empty())
    return createStringError("there is no nvdisasm beside nvcc or in $PATH");
  ToolFolder place;
  if (Error error = place.write("kernel.cubin", cubin))
    return error;
  return place.run(program, {"-c", place.at("kernel.cubin")});
}

Expected<std::string> CudaToolchain::compileForSimulator(StringRef text, StringRef kernel) const {
  std::string compiler;
  for (StringRef name : {"clang++-22", "clang++"})
    if (auto path = sys::findProgramByName(name); path && compiler.empty())
      compiler = *path;
  if (compiler.empty())
    return createStringError("code for the simulator needs clang++-22, which is not in $PATH");
  std::vector<std::string> arguments(std::begin(simulatorFlags), std::end(simulatorFlags));
  for (StringRef folder : headerFolders)
    arguments.push_back("-I" + headers() + folder.str());
  // The types of half precision.
  std::string include = cudaPath;
  if (include.empty() && !nvccPath.empty())
    include = std::string(sys::path::parent_path(sys::path::parent_path(nvccPath)));
  if (!include.empty())
    arguments.insert(arguments.end(), {"-isystem", include + "/include"});
  ToolFolder place;
  if (Error error = place.write(
          "kernel.cpp",
          (text + "\n#include \"kiln/cudasim/Module.h\"\nKILN_SIM_KERNEL(" + kernel + ");\n")
              .str()))
    return error;
  arguments.insert(arguments.end(), {place.at("kernel.cpp"), "-o", place.at("kernel.so")});
  auto said = place.run(compiler, arguments);
  return said ? place.read("kernel.so") : said.takeError();
}
