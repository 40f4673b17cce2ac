//===- KernelCache.cpp - Objects of kernels that were compiled ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/KernelCache.h"
#include "ProgramIdentity.h"
#include "kiln/Target/Link/OutputFile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>

using namespace mlir;
using namespace kiln;
namespace fs = llvm::sys::fs;

/// Entries are spread over as many folders, so that trimming reads few names.
static constexpr uint64_t numShards = 16;
/// A use within this time does not touch the entry again.
static constexpr time_t useGranule = 3600;
/// Part of a shard that is left free after trimming: it is not done each time.
static constexpr uint64_t slack = 4;

KernelCache::KernelCache(StringRef folder, uint64_t limit) : folder(folder.str()), limit(limit) {}

std::string KernelCache::shardOf(StringRef key) const { return folder + "/" + key.front(); }
std::string KernelCache::pathOf(StringRef key) const {
  return shardOf(key) + "/" + key.drop_front().str();
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Elements in a resource are printed by their name only.
static bool holdsResource(plan::KernelOp kernel) {
  auto result = kernel->walk([](Operation *op) {
    for (NamedAttribute attr : op->getAttrs())
      if (isa<DenseResourceElementsAttr>(attr.getValue()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

std::string KernelCache::keyOf(plan::KernelOp kernel, const CPUTarget &target, unsigned optLevel) {
  StringRef program = programIdentity();
  if (program.empty() || holdsResource(kernel))
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  llvm::BLAKE3 hash;
  for (StringRef part : {program, StringRef(target.cpu), StringRef(target.features)}) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  }
  hash.update(std::to_string(optLevel));
  hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//
//
// magic, digest of all that follows, then fields: a 64-bit length and bytes.
//

// A field that is forgotten here would make cached builds differ from others.
static_assert(sizeof(KernelFacts) == 3 * sizeof(Expr) + sizeof(void *),
              "a new fact: write and read it below");

static constexpr llvm::StringLiteral magic = "KILNKRN1";
static constexpr size_t headerSize = magic.size() + 32;

static std::array<uint8_t, 32> digestOf(StringRef bytes) {
  return llvm::BLAKE3::hash<32>(llvm::arrayRefFromStringRef(bytes));
}

static std::string encode(StringRef key, const CompiledKernel &kernel) {
  std::string body;
  auto field = [&](StringRef bytes) {
    char length[8];
    llvm::support::endian::write64le(length, bytes.size());
    body.append(length, sizeof(length));
    body += bytes;
  };
  field(key);
  field(kernel.name);
  field(kernel.facts.units.str());
  field(kernel.facts.picosecondsPerUnit.str());
  field(kernel.facts.scratchBytes.str());
  field(kernel.facts.vectorize ? "1" : "0");
  field(StringRef(kernel.object.data(), kernel.object.size()));
  auto digest = digestOf(body);
  return magic.str() + llvm::toStringRef(digest).str() + body;
}

static std::optional<CompiledKernel> decode(StringRef key, StringRef bytes) {
  if (bytes.size() < headerSize || !bytes.consume_front(magic))
    return std::nullopt;
  StringRef digest = bytes.take_front(headerSize - magic.size());
  StringRef body = bytes.drop_front(digest.size());
  if (digest != llvm::toStringRef(digestOf(body)))
    return std::nullopt;
  auto field = [&] {
    if (body.size() < 8)
      return StringRef();
    uint64_t length = llvm::support::endian::read64le(body.data());
    StringRef result = body.substr(8, length);
    body = body.drop_front(8 + result.size());
    return result;
  };
  if (field() != key)
    return std::nullopt;
  CompiledKernel kernel;
  kernel.name = field().str();
  for (Expr *fact :
       {&kernel.facts.units, &kernel.facts.picosecondsPerUnit, &kernel.facts.scratchBytes}) {
    auto expr = Expr::parse(field());
    if (!expr)
      return std::nullopt;
    *fact = *expr;
  }
  kernel.facts.vectorize = field() == "1";
  StringRef object = field();
  kernel.object.assign(object.begin(), object.end());
  return kernel;
}

std::optional<CompiledKernel> KernelCache::load(StringRef key) const {
  std::string path = pathOf(key);
  // Volatile: read, not mapped, for a mapped file that shrinks is a SIGBUS.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  auto kernel = decode(key, (*file)->getBuffer());
  struct stat status;
  if (kernel && ::stat(path.c_str(), &status) == 0 &&
      status.st_mtime + useGranule < ::time(nullptr))
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return kernel;
}

bool KernelCache::makeFolder(const std::string &path) {
  std::error_code error = fs::create_directories(path, /*IgnoreExisting=*/true, fs::owner_all);
  if (error)
    reason = "cannot make the folder '" + path + "': " + error.message();
  return !error;
}

void KernelCache::store(StringRef key, const CompiledKernel &kernel) {
  std::string shard = shardOf(key);
  // The first reason is enough: the others will be the same.
  if (!reason.empty() || !makeFolder(shard))
    return;
  if (llvm::Error error = writeFileAtomically(pathOf(key), encode(key, kernel), 0600))
    reason = llvm::toString(std::move(error));
  else
    written.insert(shard);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

void KernelCache::trimShard(const std::string &shard) const {
  struct Entry {
    std::string path;
    uint64_t size;
    llvm::sys::TimePoint<> used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  auto longAgo = std::chrono::system_clock::now() - std::chrono::seconds(useGranule);
  for (fs::directory_iterator it(shard, error, /*follow_symlinks=*/false), end; it != end && !error;
       it.increment(error)) {
    auto status = it->status();
    if (!status || status->type() != fs::file_type::regular_file)
      continue;
    // What a process that was killed left behind.
    if (llvm::sys::path::filename(it->path()).starts_with(".")) {
      if (status->getLastModificationTime() < longAgo)
        fs::remove(it->path());
      continue;
    }
    entries.push_back({it->path(), status->getSize(), status->getLastModificationTime()});
    total += status->getSize();
  }
  uint64_t allowed = limit / numShards;
  if (total <= allowed)
    return;
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  for (const Entry &entry : entries) {
    if (total <= allowed - allowed / slack)
      return;
    if (!fs::remove(entry.path))
      total -= entry.size;
  }
}

void KernelCache::trim() {
  for (const std::string &shard : written)
    trimShard(shard);
  written.clear();
}

//===----------------------------------------------------------------------===//
// Compile
//===----------------------------------------------------------------------===//

FailureOr<std::vector<CompiledKernel>> KernelCache::compile(KernelCompiler &compiler,
                                                            ArrayRef<plan::KernelOp> kernels,
                                                            const KernelOptions &options) {
  numHits = 0;
  if (options.keepLLVMIR || options.keepAssembly)
    return compiler.compile(kernels, options);
  std::vector<CompiledKernel> results(kernels.size());
  std::vector<std::string> keys;
  std::vector<plan::KernelOp> missing;
  std::vector<size_t> places;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    keys.push_back(keyOf(kernel, compiler.target(), options.optLevel));
    std::optional<CompiledKernel> found;
    if (!keys.back().empty())
      found = load(keys.back());
    if (found) {
      results[i] = std::move(*found);
      ++numHits;
    } else {
      missing.push_back(kernel);
      places.push_back(i);
    }
  }
  auto compiled = compiler.compile(missing, options);
  if (failed(compiled))
    return failure();
  for (auto [place, kernel] : llvm::zip(places, *compiled)) {
    if (!keys[place].empty())
      store(keys[place], kernel);
    results[place] = std::move(kernel);
  }
  trim();
  return results;
}
