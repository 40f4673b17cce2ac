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

static constexpr StringLiteral architectures[] = {"sm_75",  "sm_80",  "sm_86",   "sm_89", "sm_90",
                                                  "sm_90a", "sm_100", "sm_100a", "sm_120"};

ArrayRef<StringLiteral> CudaArchitecture::known() { return architectures; }

Expected<CudaArchitecture> CudaArchitecture::parse(StringRef name) {
  if (!is_contained(architectures, name))
    return createStringError("unknown architecture '" + name +
                             "'; known: " + join(ArrayRef(architectures), ", "));
  CudaArchitecture result;
  result.name = name.str();
  StringRef digits = name;
  digits.consume_front("sm_");
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

static constexpr StringLiteral nvccFlags[] = {"-std=c++17",
                                              "-O3",
                                              "-cubin",
                                              "-fmad=false",
                                              "-Wno-deprecated-gpu-targets",
                                              "--expt-relaxed-constexpr"};

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

/// Runs a compiler on a text, in a folder of its own.
static Expected<std::string> run(StringRef program, std::vector<std::string> arguments,
                                 StringRef text, StringRef source, StringRef result) {
  SmallString<128> folder;
  if (std::error_code code = sys::fs::createUniqueDirectory("kiln-cuda", folder))
    return createStringError(code, "cannot make a temporary folder: " + code.message());
  scope_exit cleanup([&] { sys::fs::remove_directories(folder); });
  auto at = [&](StringRef name) {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return std::string(path);
  };
  std::string input = at(source), output = at(result), log = at("log");
  {
    std::error_code code;
    raw_fd_ostream file(input, code);
    file << text;
    file.close();
    if (code || file.has_error())
      return createStringError("cannot write '" + input + "'");
  }
  arguments.insert(arguments.begin(), program.str());
  arguments.insert(arguments.end(), {input, "-o", output});
  SmallVector<StringRef> command(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  std::string problem;
  int code = sys::ExecuteAndWait(program, command, std::nullopt, redirects,
                                 /*SecondsToWait=*/600, 0, &problem);
  if (code != 0) {
    auto said = MemoryBuffer::getFile(log);
    return createStringError(
        (problem.empty() ? program + " failed" : Twine(problem)) +
        (said ? ":\n" + StringRef((*said)->getBuffer()).take_front(4000).rtrim() : Twine("")));
  }
  auto bytes = MemoryBuffer::getFile(output);
  if (!bytes)
    return createStringError(program + " wrote no '" + result + "'");
  return (*bytes)->getBuffer().str();
}

Expected<std::string> CudaToolchain::compile(StringRef text,
                                             const CudaArchitecture &architecture) const {
  auto program = nvcc();
  if (!program)
    return program.takeError();
  std::vector<std::string> arguments(std::begin(nvccFlags), std::end(nvccFlags));
  arguments.push_back("-arch=" + architecture.name);
  for (StringRef folder : headerFolders)
    arguments.push_back("-I" + headers() + folder.str());
  return run(*program, arguments, text, "kernel.cu", "kernel.cubin");
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
  std::string whole =
      (text + "\n#include \"kiln/cudasim/Module.h\"\nKILN_SIM_KERNEL(" + kernel + ");\n").str();
  return run(compiler, arguments, whole, "kernel.cpp", "kernel.so");
}
