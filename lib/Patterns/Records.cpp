//===- Records.cpp - What rules are worth, measured -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Records.h"
#include "Candidates.h"
#include "SmallFile.h"
#include "dialects/Kiln/ops/Conv/Conv.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <set>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace kiln;

/// Bytes of a record; those of Kiln have less than 2^15.
static constexpr uint64_t largestRecord = 1 << 24;

/// Characters before and behind the place of a fault.
static constexpr size_t lineAroundPlace = 40;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static StringRef vendorOf(StringRef cpu) {
  for (StringRef amd :
       {"znver", "bdver", "btver", "amdfam", "athlon", "opteron", "barcelona", "k8"})
    if (cpu.starts_with(amd))
      return "amd";
  return cpu.starts_with("x86-64") || cpu == "generic" ? "generic" : "intel";
}

std::string kiln::deviceSlug(StringRef cpu, unsigned vectorBits) {
  StringRef name = cpu;
  std::string core = name.consume_front("znver") ? "zen" + name.str() : name.str();
  for (char &c : core)
    c = llvm::isAlnum(c) ? llvm::toLower(c) : '_';
  StringRef isa = vectorBits >= 512 ? "avx512" : vectorBits >= 256 ? "avx2" : "sse";
  return (vendorOf(cpu) + "-" + core + "-" + isa).str();
}

bool kiln::isDeviceSlug(StringRef slug) {
  SmallVector<StringRef> parts;
  slug.split(parts, '-');
  return parts.size() == 3 && slug.size() < 128 &&
         llvm::all_of(
             parts,
             [](StringRef part) {
               return !part.empty() && llvm::all_of(part, [](char c) {
                 return llvm::isLower(c) || llvm::isDigit(c) || c == '_';
               });
             });
}

unsigned kiln::deviceLikeness(StringRef a, StringRef b) {
  SmallVector<StringRef> left, right;
  a.split(left, '-');
  b.split(right, '-');
  auto [end, unused] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  return static_cast<unsigned>(end - left.begin());
}

static std::string processorName() {
  // Its size is not known to the file system.
  auto file = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo");
  if (!file)
    return "unknown";
  StringRef text = (*file)->getBuffer();
  StringRef name = text.substr(text.find("model name")).split('\n').first.split(':').second.trim();
  return name.empty() ? "unknown" : name.str();
}

DeviceFacts kiln::thisDevice(std::string slug, std::vector<std::string> isa) {
  DeviceFacts device;
  device.slug = std::move(slug);
  device.cpu = processorName();
  device.cores = std::max(1u, std::thread::hardware_concurrency());
  device.isa = std::move(isa);
  for (auto [name, what] :
       {std::pair("l1d", _SC_LEVEL1_DCACHE_SIZE), std::pair("l2", _SC_LEVEL2_CACHE_SIZE),
        std::pair("l3", _SC_LEVEL3_CACHE_SIZE)})
    if (long bytes = ::sysconf(what); bytes > 0)
      device.caches[name] = bytes;
  return device;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

unsigned Bucket::distance(const Bucket &other) const {
  auto apart = [](unsigned a, unsigned b) { return a < b ? b - a : a - b; };
  return std::max(apart(flops, other.flops), apart(bytes, other.bytes));
}

std::string Bucket::str() const {
  return dtype + ", 2^" + std::to_string(flops) + " operations, 2^" + std::to_string(bytes) +
         " bytes";
}

/// A multiplication and an addition count two, any other op one an element of
/// its largest operand or result.
static double operationsOf(Operation *op, const TrafficModel &sizes) {
  auto elementsOf = [&](const Shape &shape) {
    return static_cast<double>(sizes.elementsOf(shape));
  };
  auto elements = [&](Value value) {
    return isa<RankedTensorType>(value.getType()) ? elementsOf(shapeOf(value)) : 0;
  };
  // Products that one element of `each` takes part in.
  auto contraction = [&](Value each, const Shape &products) {
    return 2 * elements(each) * elementsOf(products);
  };
  if (auto matmul = dyn_cast<MatMulOp>(op)) {
    Shape a = shapeOf(matmul.getA());
    bool isVector = a.size() < 2;
    return contraction(matmul.getY(),
                       {matmul.getTransA() && !isVector ? a[a.size() - 2] : a.back()});
  }
  if (auto conv = dyn_cast<ConvOp>(op))
    return contraction(conv->getResult(0), Shape(llvm::drop_begin(shapeOf(conv.getW()))));
  if (auto conv = dyn_cast<ConvTransposeOp>(op))
    return contraction(conv.getX(), Shape(llvm::drop_begin(shapeOf(conv.getW()))));
  double most = 0;
  for (Value value : op->getOperands())
    most = std::max(most, elements(value));
  for (Value value : op->getResults())
    most = std::max(most, elements(value));
  return most;
}

static unsigned log2Of(double count) {
  return count < 1 ? 0 : static_cast<unsigned>(std::ilogb(count));
}

Bucket kiln::bucketOf(ArrayRef<Operation *> ops, const TrafficModel &traffic) {
  Bucket bucket;
  llvm::raw_string_ostream(bucket.dtype) << getElementTypeOrSelf(ops.back()->getResult(0));
  double operations = 0;
  for (Operation *op : ops)
    operations += operationsOf(op, traffic);
  bucket.flops = log2Of(operations);
  bucket.bytes = log2Of(static_cast<double>(traffic.trafficOf(ops)));
  return bucket;
}

Bucket kiln::bucketOf(ArrayRef<Operation *> ops) { return bucketOf(ops, TrafficModel()); }

bool Measurement::isWithinNoise() const {
  return std::abs(unfused.median - fused.median) <= unfused.mad + fused.mad;
}

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

// A pack is entries of `<path> <size>\n<text>`.

std::string kiln::packRecords(const std::map<std::string, std::string> &files) {
  std::string pack;
  for (const auto &[path, text] : files)
    pack += path + " " + std::to_string(text.size()) + "\n" + text;
  return pack;
}

/// Device and rule of `<device>/<rule>.json`; empty when it is none.
static std::pair<StringRef, StringRef> partsOf(StringRef path) {
  StringRef rule = llvm::sys::path::filename(path);
  StringRef device = llvm::sys::path::filename(llvm::sys::path::parent_path(path));
  if (!rule.consume_back(".json") || !isDeviceSlug(device))
    return {};
  return {device, rule};
}

RecordLibrary::RecordLibrary(StringRef pack) {
  while (!pack.empty()) {
    auto [head, rest] = pack.split('\n');
    auto [path, count] = head.split(' ');
    size_t size = 0;
    if (count.getAsInteger(10, size) || size > rest.size())
      return; // only a broken build has it
    auto [device, rule] = partsOf(path);
    sources[rule.str()][device.str()] = {path.str(), rest.take_front(size)};
    pack = rest.drop_front(size);
  }
}

bool RecordLibrary::addFolder(StringRef folder, kiln::DiagnosticEngine &diags) {
  namespace fs = llvm::sys::fs;
  std::error_code error;
  std::map<std::string, std::string> devices;
  for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error))
    if (StringRef name = llvm::sys::path::filename(it->path()); isDeviceSlug(name))
      devices[name.str()] = it->path();
  size_t found = 0;
  for (const auto &[device, path] : devices) {
    if (error)
      break;
    for (fs::directory_iterator it(path, error), end; it != end && !error; it.increment(error))
      if (StringRef rule = partsOf(it->path()).second; !rule.empty()) {
        sources[rule.str()][device] = {it->path(), std::nullopt};
        ++found;
      }
  }
  if (error)
    diags.report(Diag::RecordFolderUnreadable, folder, error.message());
  else if (found == 0)
    diags.report(Diag::NoRecords, folder);
  loaded.clear();
  return !error;
}

/// Says where in a file a fault is, and shows it.
static void showPlace(kiln::Diagnostic &diag, StringRef file, StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  size_t start = before.rfind('\n') + 1, column = offset - start;
  // Measurements are long lines: what is around the place is shown.
  size_t shown = column > lineAroundPlace ? column - lineAroundPlace : 0;
  StringRef line = text.drop_front(start).split('\n').first.drop_front(shown);
  diag.inFile(
      (file + ":" + llvm::Twine(before.count('\n') + 1) + ":" + llvm::Twine(column + 1)).str());
  diag.note(printable(line.take_front(2 * lineAroundPlace)));
  diag.note(std::string(column - shown, ' ') + "^");
}

std::optional<RuleRecord> RecordLibrary::read(StringRef rule, StringRef device,
                                              const Source &source,
                                              kiln::DiagnosticEngine &diags) const {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  StringRef text;
  if (source.text) {
    text = *source.text;
  } else {
    std::string why;
    buffer = readSmallFile(source.file, largestRecord, why);
    if (!buffer) {
      diags.report(Diag::RecordUnusable, why).inFile(source.file);
      return std::nullopt;
    }
    text = buffer->getBuffer();
  }
  auto record = parseRecord(text);
  if (!record) {
    llvm::handleAllErrors(record.takeError(), [&](const RecordError &error) {
      auto &diag = diags.report(Diag::RecordUnusable, error.message());
      showPlace(diag, source.file, text, error.offset());
    });
    return std::nullopt;
  }
  auto unused = [&](kiln::Diagnostic &diag, StringRef member) {
    showPlace(diag, source.file, text, placeInRecord(text, member));
    return std::nullopt;
  };
  record->file = source.file;
  if (!isAsWritten(*record))
    return unused(diags.report(Diag::RecordEdited), "digest");
  if (record->rule != rule)
    return unused(diags.report(Diag::RecordUnusable, "it is of rule '" + record->rule +
                                                         "', and its name is another one's"),
                  "rule");
  if (record->device.slug != device)
    return unused(diags.report(Diag::RecordUnusable, "it is of device '" + record->device.slug +
                                                         "', and its folder is another one's"),
                  "device.slug");
  return std::move(*record);
}

std::vector<std::string> RecordLibrary::devices() const {
  std::set<std::string> slugs;
  for (const auto &[rule, files] : sources)
    for (const auto &[device, source] : files)
      slugs.insert(device);
  return {slugs.begin(), slugs.end()};
}

const std::vector<RuleRecord> &RecordLibrary::of(StringRef rule, kiln::DiagnosticEngine &diags) {
  auto [it, fresh] = loaded.try_emplace(rule.str());
  auto files = sources.find(rule.str());
  if (fresh && files != sources.end())
    for (const auto &[device, source] : files->second)
      if (auto record = read(rule, device, source, diags))
        it->second.push_back(std::move(*record));
  return it->second;
}

std::optional<Evidence> RecordLibrary::find(StringRef rule, StringRef pattern, const Bucket &bucket,
                                            StringRef device, kiln::DiagnosticEngine &diags) {
  std::optional<Evidence> best;
  auto rank = [&](const Evidence &evidence) {
    return std::tuple(-static_cast<int>(evidence.likeness), evidence.distance,
                      evidence.measurement->pattern != pattern);
  };
  for (const RuleRecord &record : of(rule, diags)) {
    unsigned likeness = deviceLikeness(record.device.slug, device);
    if (likeness == 0)
      continue;
    for (const Measurement &measurement : record.measurements) {
      Evidence evidence = {&record, &measurement, likeness, bucket.distance(measurement.bucket)};
      if (measurement.bucket.dtype == bucket.dtype && evidence.distance <= maxDistance &&
          (!best || rank(evidence) < rank(*best)))
        best = evidence;
    }
  }
  return best;
}
