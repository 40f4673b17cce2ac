//===- Manifest.cpp - What an artefact was made of ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/Manifest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace kiln;

static constexpr StringLiteral formatName = "kiln-manifest ";
static constexpr unsigned formatMajor = 1, formatMinor = 0;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string hex32(uint32_t value) {
  return utohexstr(value, /*LowerCase=*/true, /*Width=*/8);
}

static std::string version(unsigned major, unsigned minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

namespace {
/// json::OStream on names that may be anything.
class Writer {
public:
  explicit Writer(raw_ostream &os) : json(os) {}

  void object(function_ref<void()> fields) { json.object(fields); }
  void object(StringRef key, function_ref<void()> fields) { json.attributeObject(key, fields); }
  template <typename Range, typename Fn>
  void array(StringRef key, const Range &elements, Fn element) {
    json.attributeArray(key, [&] {
      for (const auto &each : elements)
        element(each);
    });
  }
  void field(StringRef key, StringRef text) { json.attribute(key, json::fixUTF8(text)); }
  void number(StringRef key, uint64_t value) { json.attribute(key, value); }
  void flag(StringRef key, bool value) { json.attribute(key, value); }
  void texts(StringRef key, ArrayRef<std::string> values) {
    array(key, values, [&](StringRef value) { json.value(json::fixUTF8(value)); });
  }

private:
  json::OStream json;
};
} // namespace

static void writeDecision(Writer &w, const Manifest::Decision &decision) {
  w.object([&] {
    w.field("rule", decision.rule);
    w.field("pattern", decision.pattern);
    w.texts("site", decision.site);
    w.field("verdict", decision.verdict);
    if (!decision.evidence.empty())
      w.field("evidence", decision.evidence);
    if (!decision.records.empty())
      w.texts("records", decision.records);
    if (!decision.reason.empty())
      w.field("reason", decision.reason);
  });
}

std::string kiln::writeManifest(const Manifest &manifest) {
  std::string text;
  raw_string_ostream os(text);
  Writer w(os);
  w.object([&] {
    w.field("format", formatName.str() + version(formatMajor, formatMinor));
    w.field("kiln", manifest.kiln);
    w.field("compiler", manifest.compiler);
    w.object("abi", [&] {
      w.field("api", version(manifest.abiMajor, manifest.abiMinor));
      w.field("module", version(manifest.moduleMajor, manifest.moduleMinor));
    });
    w.object("model", [&] {
      w.field("file", manifest.modelFile);
      w.field("digest", manifest.modelDigest);
    });
    w.field("digest", manifest.digest);
    w.object("target", [&] {
      w.field("name", manifest.target);
      w.field("cpu", manifest.cpu);
      w.field("features", manifest.features);
    });
    w.object("options", [&] {
      for (const auto &[name, value] : manifest.options)
        w.field(name, value);
    });
    w.array("weights", manifest.weights, [&](const Manifest::Weight &weight) {
      w.object([&] {
        w.field("name", weight.name);
        w.number("bytes", weight.bytes);
        w.field("crc32c", hex32(weight.crc32c));
      });
    });
    w.array("rules", manifest.rules, [&](const Manifest::Rule &rule) {
      w.object([&] {
        w.field("name", rule.name);
        w.field("digest", rule.digest);
        w.flag("built_in", rule.builtIn);
      });
    });
    w.array("decisions", manifest.decisions,
            [&](const Manifest::Decision &decision) { writeDecision(w, decision); });
  });
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// In the namespace of their types, where llvm::json looks for them.
namespace kiln {
static bool fromJSON(const json::Value &value, Manifest::Weight &weight, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string crc;
  if (!map || !map.map("name", weight.name) || !map.map("bytes", weight.bytes) ||
      !map.map("crc32c", crc))
    return false;
  if (crc.size() != 8 || StringRef(crc).getAsInteger(16, weight.crc32c)) {
    path.field("crc32c").report("expected 8 hexadecimal digits");
    return false;
  }
  return true;
}

static bool fromJSON(const json::Value &value, Manifest::Rule &rule, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", rule.name) && map.map("digest", rule.digest) &&
         map.map("built_in", rule.builtIn);
}

static bool fromJSON(const json::Value &value, Manifest::Decision &decision, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("rule", decision.rule) && map.map("pattern", decision.pattern) &&
         map.map("site", decision.site) && map.map("verdict", decision.verdict) &&
         map.mapOptional("evidence", decision.evidence) &&
         map.mapOptional("records", decision.records) && map.mapOptional("reason", decision.reason);
}
} // namespace kiln

/// "1.2"; false for anything else.
static bool parseVersion(StringRef text, uint16_t &major, uint16_t &minor) {
  auto [left, right] = text.split('.');
  return !left.getAsInteger(10, major) && !right.getAsInteger(10, minor);
}

/// Reads the fields of the object at `key`.
static bool
mapObject(const json::Object &outer, json::Path path, StringRef key,
          function_ref<bool(json::ObjectMapper &, const json::Object &, json::Path)> read) {
  const json::Value *value = outer.get(key);
  if (!value || !value->getAsObject()) {
    path.field(key).report("expected object");
    return false;
  }
  json::ObjectMapper map(*value, path.field(key));
  return map && read(map, *value->getAsObject(), path.field(key));
}

static bool mapVersion(const json::Object &object, json::Path path, StringRef key, uint16_t &major,
                       uint16_t &minor) {
  auto text = object.getString(key);
  if (text && parseVersion(*text, major, minor))
    return true;
  path.field(key).report("expected a version MAJOR.MINOR");
  return false;
}

static bool readFields(const json::Value &value, Manifest &manifest, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string format;
  if (!map || !map.map("format", format))
    return false;
  StringRef rest = format;
  uint16_t major, minor;
  if (!rest.consume_front(formatName) || !parseVersion(rest, major, minor) ||
      major != formatMajor) {
    path.field("format").report("this Kiln reads kiln-manifest 1.x");
    return false;
  }
  const json::Object &object = *value.getAsObject();
  return map.map("kiln", manifest.kiln) && map.map("compiler", manifest.compiler) &&
         mapObject(object, path, "abi",
                   [&](json::ObjectMapper &, const json::Object &abi, json::Path at) {
                     return mapVersion(abi, at, "api", manifest.abiMajor, manifest.abiMinor) &&
                            mapVersion(abi, at, "module", manifest.moduleMajor,
                                       manifest.moduleMinor);
                   }) &&
         mapObject(object, path, "model",
                   [&](json::ObjectMapper &model, const json::Object &, json::Path) {
                     return model.map("file", manifest.modelFile) &&
                            model.map("digest", manifest.modelDigest);
                   }) &&
         map.map("digest", manifest.digest) &&
         mapObject(object, path, "target",
                   [&](json::ObjectMapper &target, const json::Object &, json::Path) {
                     return target.map("name", manifest.target) &&
                            target.map("cpu", manifest.cpu) &&
                            target.map("features", manifest.features);
                   }) &&
         map.map("options", manifest.options) && map.map("weights", manifest.weights) &&
         map.map("rules", manifest.rules) && map.map("decisions", manifest.decisions);
}

Expected<Manifest> kiln::readManifest(StringRef text) {
  auto value = json::parse(text);
  if (!value)
    return value.takeError();
  Manifest manifest;
  json::Path::Root root("manifest");
  if (!readFields(*value, manifest, root))
    return root.getError();
  return manifest;
}

static Expected<StringRef> findManifest(const object::ObjectFile &file) {
  for (const object::SectionRef &section : file.sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    if (*name == manifestSection)
      return section.getContents();
  }
  return createStringError("it has no manifest: kilnc did not make it");
}

Expected<Manifest> kiln::manifestOf(StringRef path) {
  auto failed = [&](Error error) {
    return createStringError("'" + path + "': " + toString(std::move(error)));
  };
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return failed(errorCodeToError(buffer.getError()));
  auto file = object::ObjectFile::createELFObjectFile((*buffer)->getMemBufferRef());
  if (!file)
    return failed(file.takeError());
  Expected<StringRef> text = findManifest(**file);
  if (!text)
    return failed(text.takeError());
  Expected<Manifest> manifest = readManifest(text->take_until([](char c) { return c == 0; }));
  if (!manifest)
    return failed(manifest.takeError());
  return manifest;
}
