//===- DeviceFacts.cpp - What is known of CUDA devices -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CUDA/DeviceFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace kiln::cuda;

StringRef kiln::cuda::nameOf(Unit unit) {
  static constexpr StringLiteral names[unitCount] = {"fp32", "tf32", "f16", "bf16", "int8"};
  return names[static_cast<unsigned>(unit)];
}

namespace {

/// The newest version of the files' form.
constexpr int64_t formVersion = 1;

/// One JSON object whose members are read by name; remembers the first mistake.
class Reader {
public:
  Reader(StringRef what, const json::Object *object) : what(what), object(object) {
    if (!object)
      fail("is no object");
  }

  Error takeError() { return mistake.empty() ? Error::success() : createStringError(mistake); }
  void fail(const Twine &text) {
    if (mistake.empty())
      mistake = (what + ": " + text).str();
  }

  std::string text(StringRef member) {
    std::optional<StringRef> value;
    if (object)
      value = object->getString(member);
    if (!value)
      fail("'" + member + "' is no text");
    return value ? value->str() : "";
  }
  int64_t integer(StringRef member, int64_t least) {
    std::optional<int64_t> value;
    if (object)
      value = object->getInteger(member);
    if (!value || *value < least)
      fail("'" + member + "' is no integer of at least " + Twine(least));
    return value.value_or(least);
  }
  void checkVersion() {
    if (integer("version", 1) > formVersion)
      fail("written for a newer version");
  }
  Reader member(StringRef name) const {
    return Reader((what + ": '" + name + "'").str(), object ? object->getObject(name) : nullptr);
  }
  bool has(StringRef name) const { return object && object->get(name); }
  std::optional<bool> boolean(StringRef name) const {
    return object ? object->getBoolean(name) : std::nullopt;
  }

private:
  std::string what, mistake;
  const json::Object *object;
};

struct Fact {
  StringLiteral name;
  int64_t *value;
  bool required;
};

Error readFacts(DeviceFacts &device, const Reader &file) {
  auto rate = [&](Unit unit) { return &device.rates[static_cast<unsigned>(unit)]; };
  const Fact facts[] = {
      {"multiprocessors", &device.multiprocessors, true},
      {"l2_bytes", &device.l2Bytes, true},
      {"memory_bytes", &device.memoryBytes, true},
      {"memory_bytes_per_second", &device.memoryBytesPerSecond, true},
      {"clock_hz", &device.clockHz, true},
      {"fp32_flops", rate(Unit::fp32), true},
      {"tf32_flops", rate(Unit::tf32), false},
      {"f16_flops", rate(Unit::f16), false},
      {"bf16_flops", rate(Unit::bf16), false},
      {"int8_ops", rate(Unit::int8), false},
  };
  Reader all = file.member("facts"), sources = file.member("sources");
  for (const Fact &fact : facts) {
    if (!fact.required && !all.has(fact.name))
      continue;
    Reader one = all.member(fact.name);
    *fact.value = one.integer("value", 1);
    std::string source = one.text("source");
    if (!sources.has(source))
      one.fail("'" + source + "' is none of the sources");
    std::optional<bool> verified = one.boolean("verified");
    if (!verified)
      one.fail("'verified' is neither true nor false");
    else if (!*verified)
      device.unverified.push_back(fact.name.str());
    if (Error error = one.takeError())
      return error;
  }
  return Error::success();
}

Error readLimits(DeviceFacts &device, StringRef text) {
  Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return parsed.takeError();
  Reader file("architectures", parsed->getAsObject());
  file.checkVersion();
  if (Error error = file.takeError())
    return error;
  Reader limits = file.member("architectures").member(device.architecture);
  device.sharedPerMultiprocessor = limits.integer("shared_per_multiprocessor", 1);
  device.sharedPerBlock = limits.integer("shared_per_block", 1);
  device.sharedReservedPerBlock = limits.integer("shared_reserved_per_block", 0);
  device.blocksPerMultiprocessor = limits.integer("blocks_per_multiprocessor", 1);
  device.threadsPerMultiprocessor = limits.integer("threads_per_multiprocessor", 1);
  device.fp32PerClock = limits.integer("fp32_per_clock", 1);
  return limits.takeError();
}

struct File {
  StringLiteral id, text;
};
constexpr File files[] = {
#include "Devices.inc"
};
constexpr StringLiteral architecturesId = "architectures";

StringRef architecturesText() {
  const File *file = find_if(files, [](const File &f) { return f.id == architecturesId; });
  return file->text;
}

} // namespace

Expected<DeviceFacts> kiln::cuda::parseDeviceFacts(StringRef id, StringRef text,
                                                   StringRef architectures) {
  Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return createStringError("device '" + id + "': " + toString(parsed.takeError()));
  Reader file(("device '" + id + "'").str(), parsed->getAsObject());
  file.checkVersion();
  DeviceFacts device;
  device.id = id.str();
  device.name = file.text("name");
  device.architecture = file.text("architecture");
  if (Error error = file.takeError())
    return error;
  if (Error error = readFacts(device, file))
    return error;
  if (Error error = readLimits(device, architectures))
    return createStringError("device '" + id + "': " + toString(std::move(error)));
  return device;
}

Expected<DeviceFacts> kiln::cuda::readDeviceFacts(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return createStringError("device file '" + path + "': " + buffer.getError().message());
  return parseDeviceFacts(sys::path::stem(path), (*buffer)->getBuffer(), architecturesText());
}

ArrayRef<DeviceFacts> kiln::cuda::builtInDevices() {
  static const std::vector<DeviceFacts> devices = [] {
    std::vector<DeviceFacts> all;
    for (const File &file : files) {
      if (file.id == architecturesId)
        continue;
      Expected<DeviceFacts> device = parseDeviceFacts(file.id, file.text, architecturesText());
      if (!device) // A test reads all of them.
        report_fatal_error(device.takeError());
      all.push_back(std::move(*device));
    }
    return all;
  }();
  return devices;
}

const DeviceFacts *kiln::cuda::findDevice(StringRef id) {
  const DeviceFacts *device = find_if(builtInDevices(), [&](const auto &d) { return d.id == id; });
  return device == builtInDevices().end() ? nullptr : device;
}

const DeviceFacts *kiln::cuda::deviceOfArchitecture(StringRef architecture) {
  StringRef plain = architecture.take_until([](char c) { return c == 'a' || c == 'f'; });
  const DeviceFacts *device =
      find_if(builtInDevices(), [&](const auto &d) { return d.architecture == plain; });
  return device == builtInDevices().end() ? nullptr : device;
}
