//===- RecordText.cpp - Records as JSON -----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text that is written is canonical: one line a measurement, fixed order,
// fixed digits. The digest is of that text without the digest, so blanks and the
// order of members may change, and what is said may not.
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Records.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include <cmath>
#include <set>

using namespace kiln;
using llvm::ArrayRef;
using llvm::StringRef;

static constexpr llvm::StringLiteral format = "1.0";
static constexpr llvm::StringLiteral digestPrefix = "sha256:";

// What no measurement can be.
static constexpr int64_t mostNanoseconds = int64_t(3600) * 1000 * 1000 * 1000;
static constexpr int64_t mostBytes = int64_t(1) << 50;
static constexpr int64_t mostPairs = 1000000;
static constexpr int64_t mostLog2 = 63;
static constexpr size_t mostNested = 64;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string quoted(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << llvm::json::Value(llvm::json::fixUTF8(text));
  return result;
}

/// Digits that reading and writing again keep.
static std::string speedupText(const Measurement &m) {
  return llvm::formatv("{0:F3}", m.speedup());
}

static std::string measurementText(const Measurement &m) {
  auto timing = [](const Timing &t) {
    return llvm::formatv("{{\"median\": {0}, \"mad\": {1}}", t.median, t.mad).str();
  };
  return llvm::formatv(
      "{{\"pattern\": {0}, \"instance\": {1}, \"size\": {2}, \"seed\": {3}, "
      "\"bucket\": {{\"dtype\": {4}, \"flops\": {5}, \"bytes\": {6}}, \"kernel_hash\": {7}, "
      "\"n\": {8}, \"unfused_ns\": {9}, \"fused_ns\": {10}, \"speedup\": {11}, "
      "\"saved_bytes\": {12}, \"peak_bytes_change\": {13}, "
      "\"error\": {{\"max_abs\": {14:e3}, \"bound\": {15:e3}}}",
      quoted(m.pattern), quoted(m.instance), quoted(m.size), m.seed, quoted(m.bucket.dtype),
      m.bucket.flops, m.bucket.bytes, quoted(m.kernelHash), m.pairs, timing(m.unfused),
      timing(m.fused), speedupText(m), m.savedBytes, m.peakBytesChange, m.maxError, m.errorBound);
}

/// All but the digest and the closing brace.
static std::string bodyText(const RuleRecord &record) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [](const auto &range, auto print) {
    return llvm::join(llvm::map_range(range, print), ", ");
  };
  os << "{\n \"format\": " << quoted(format) << ",\n \"rule\": " << quoted(record.rule)
     << ",\n \"device\": {\"slug\": " << quoted(record.device.slug)
     << ", \"cpu\": " << quoted(record.device.cpu) << ", \"cores\": " << record.device.cores
     << ", \"isa\": ["
     << list(record.device.isa, [](const std::string &name) { return quoted(name); })
     << "], \"caches\": {"
     << list(record.device.caches,
             [](const auto &cache) {
               return quoted(cache.first) + ": " + std::to_string(cache.second);
             })
     << "}},\n \"clock\": " << quoted(record.clock) << ",\n \"date\": " << quoted(record.date)
     << ",\n \"kiln\": " << quoted(record.kiln) << ",\n \"compiler\": " << quoted(record.compiler)
     << ",\n \"measurements\": [";
  StringRef separator = "\n  ";
  for (const Measurement &measurement : record.measurements)
    os << std::exchange(separator, ",\n  ") << measurementText(measurement);
  os << "\n ]";
  return text;
}

static std::string digestOf(StringRef body) {
  return digestPrefix.str() +
         llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(body)), /*LowerCase=*/true);
}

std::string kiln::writeRecord(RuleRecord &record) {
  llvm::sort(record.measurements, [](const Measurement &a, const Measurement &b) {
    auto key = [](const Measurement &m) {
      return std::tie(m.pattern, m.bucket.dtype, m.bucket.flops, m.bucket.bytes, m.size, m.seed);
    };
    return key(a) < key(b);
  });
  std::string body = bodyText(record);
  record.digest = digestOf(body);
  return body + ",\n \"digest\": " + quoted(record.digest) + "\n}\n";
}

bool kiln::isAsWritten(const RuleRecord &record) {
  return record.digest == digestOf(bodyText(record));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

char RecordError::ID = 0;

namespace {
/// Finds members of a document that is known to be JSON.
class PlaceFinder {
public:
  explicit PlaceFinder(StringRef text) : text(text) {}

  size_t find(StringRef path) {
    std::string parts = llvm::join(llvm::split(path, '['), ".");
    llvm::erase(parts, ']');
    for (StringRef part : llvm::split(parts, '.'))
      if (!enter(part))
        break;
    return at;
  }

private:
  char next() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
    return at < text.size() ? text[at] : '\0';
  }
  StringRef string() {
    size_t from = ++at;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    return text.slice(from, at++);
  }
  void skipValue() {
    unsigned depth = 0;
    do {
      char c = next();
      if (c == '"') {
        (void)string();
        continue;
      }
      depth += c == '{' || c == '[';
      depth -= c == '}' || c == ']';
      // A number or a word, or one mark.
      size_t end = std::min(text.find_first_of("{}[]:, \t\r\n", at), text.size());
      at = std::max(end, at + 1);
    } while (depth != 0 && at < text.size());
  }
  bool enter(StringRef part) {
    char opening = next();
    size_t outer = at;
    if (opening != '{' && opening != '[')
      return false;
    ++at;
    for (size_t i = 0; next() != '\0' && text[at] != '}' && text[at] != ']'; ++i) {
      bool found = opening == '{' ? string() == part : std::to_string(i) == part;
      if (opening == '{' && next() == ':')
        ++at;
      (void)next();
      if (found)
        return true;
      skipValue();
      if (next() == ',')
        ++at;
    }
    at = outer;
    return false;
  }

  StringRef text;
  size_t at = 0;
};

} // namespace

size_t kiln::placeInRecord(StringRef text, StringRef member) {
  return PlaceFinder(text).find(member);
}

namespace {
/// Keeps the first fault and where it is.
struct Faults {
  std::string first, place;
  void add(const llvm::Twine &where, const llvm::Twine &what) {
    if (!first.empty())
      return;
    place = where.str();
    first = place + ": " + what.str();
  }
};

/// The members of one object; each is asked for once, and none else may be there.
class Members {
public:
  Members(const llvm::json::Value *value, std::string path, Faults &faults)
      : path(std::move(path)), faults(faults) {
    object = value ? value->getAsObject() : nullptr;
    if (value && !object)
      faults.add(this->path.empty() ? "the document" : this->path, "is no object");
  }
  ~Members() {
    if (object)
      for (const auto &[key, value] : *object)
        if (!asked.count(key.str()))
          faults.add(where(key), "there is no such member");
  }
  Members(const Members &) = delete;
  Members &operator=(const Members &) = delete;

  const llvm::json::Value *get(StringRef key) {
    asked.insert(key.str());
    const llvm::json::Value *value = object ? object->get(key) : nullptr;
    if (object && !value)
      faults.add(where(key), "is missing");
    return value;
  }
  std::string text(StringRef key) {
    const llvm::json::Value *value = get(key);
    if (!value)
      return "";
    auto string = value->getAsString();
    if (!string || string->empty())
      faults.add(where(key), string ? "is empty" : "is no text");
    return string.value_or("").str();
  }
  int64_t integer(StringRef key, int64_t least, int64_t most) {
    const llvm::json::Value *value = get(key);
    if (!value)
      return least;
    auto number = value->getAsInteger();
    if (number && *number >= least && *number <= most)
      return *number;
    faults.add(where(key), print(*value) + " is no integer from " + llvm::Twine(least) + " to " +
                               llvm::Twine(most));
    return least;
  }
  double number(StringRef key) {
    const llvm::json::Value *value = get(key);
    if (!value)
      return 0;
    auto number = value->getAsNumber();
    if (number && std::isfinite(*number) && *number >= 0)
      return *number;
    faults.add(where(key), print(*value) + " is no finite number from 0 on");
    return 0;
  }
  std::string where(StringRef key) const {
    return path.empty() ? key.str() : path + "." + key.str();
  }

private:
  static std::string print(const llvm::json::Value &value) {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    return printable(text, 40);
  }

  std::string path;
  Faults &faults;
  const llvm::json::Object *object = nullptr;
  std::set<std::string> asked;
};
} // namespace

static Timing readTiming(const llvm::json::Value *value, std::string path, Faults &faults) {
  Members members(value, std::move(path), faults);
  Timing timing;
  timing.median = members.integer("median", 1, mostNanoseconds);
  timing.mad = members.integer("mad", 0, mostNanoseconds);
  return timing;
}

/// As schema.json has it.
static bool isElementType(StringRef name) {
  if (name == "f16" || name == "bf16" || name == "f32" || name == "f64")
    return true;
  (void)name.consume_front("u");
  return name.consume_front("i") && !name.empty() && llvm::all_of(name, llvm::isDigit);
}

static bool isHex(StringRef text) {
  return text.size() >= 16 && llvm::all_of(text, llvm::isHexDigit);
}

static Measurement readMeasurement(const llvm::json::Value &value, const std::string &path,
                                   Faults &faults) {
  Members members(&value, path, faults);
  Measurement m;
  m.pattern = members.text("pattern");
  m.instance = members.text("instance");
  m.size = members.text("size");
  if (m.size != "small" && m.size != "medium" && m.size != "large")
    faults.add(members.where("size"), "is not small, medium or large");
  m.seed = static_cast<uint64_t>(members.integer("seed", 0, INT64_MAX));
  {
    Members bucket(members.get("bucket"), members.where("bucket"), faults);
    m.bucket.dtype = bucket.text("dtype");
    if (!isElementType(m.bucket.dtype))
      faults.add(bucket.where("dtype"), "is no element type");
    m.bucket.flops = static_cast<unsigned>(bucket.integer("flops", 0, mostLog2));
    m.bucket.bytes = static_cast<unsigned>(bucket.integer("bytes", 0, mostLog2));
  }
  m.kernelHash = members.text("kernel_hash");
  if (!isHex(m.kernelHash))
    faults.add(members.where("kernel_hash"), "is not of 16 or more hexadecimal digits");
  m.pairs = static_cast<unsigned>(members.integer("n", 1, mostPairs));
  m.unfused = readTiming(members.get("unfused_ns"), members.where("unfused_ns"), faults);
  m.fused = readTiming(members.get("fused_ns"), members.where("fused_ns"), faults);
  // It is for people and scripts: what counts are the two times.
  double speedup = members.number("speedup");
  if (faults.first.empty() && std::abs(speedup - m.speedup()) > 1e-3 * (1 + speedup))
    faults.add(
        members.where("speedup"),
        llvm::formatv("{0:F3} is not what the times say, {1:F3}", speedup, m.speedup()).str());
  m.savedBytes = members.integer("saved_bytes", -mostBytes, mostBytes);
  m.peakBytesChange = members.integer("peak_bytes_change", -mostBytes, mostBytes);
  {
    Members error(members.get("error"), members.where("error"), faults);
    m.maxError = error.number("max_abs");
    m.errorBound = error.number("bound");
  }
  if (m.maxError > m.errorBound)
    faults.add(members.where("error"), "is larger than its bound");
  return m;
}

static DeviceFacts readDevice(const llvm::json::Value *value, Faults &faults) {
  Members members(value, "device", faults);
  DeviceFacts device;
  device.slug = members.text("slug");
  if (!isDeviceSlug(device.slug))
    faults.add("device.slug", "is not of the form vendor-microarchitecture-instructions");
  device.cpu = members.text("cpu");
  device.cores = static_cast<unsigned>(members.integer("cores", 1, 1 << 20));
  if (const llvm::json::Value *isa = members.get("isa")) {
    const llvm::json::Array *names = isa->getAsArray();
    if (!names)
      faults.add("device.isa", "is no list");
    else
      for (const llvm::json::Value &name : *names)
        device.isa.push_back(name.getAsString().value_or("").str());
  }
  if (const llvm::json::Value *caches = members.get("caches")) {
    const llvm::json::Object *sizes = caches->getAsObject();
    if (!sizes)
      faults.add("device.caches", "is no object");
    else
      for (const auto &[name, size] : *sizes)
        device.caches[name.str()] = size.getAsInteger().value_or(0);
  }
  return device;
}

static bool isDate(StringRef text) {
  return text.size() == 10 && llvm::all_of(llvm::enumerate(text), [](auto at) {
           bool dash = at.index() == 4 || at.index() == 7;
           return dash ? at.value() == '-' : llvm::isDigit(at.value());
         });
}

/// Where brackets are nested deeper than in any record, which the parser's stack
/// would not survive; npos where they are not. What texts hold may count.
static size_t findTooDeep(StringRef text) {
  size_t depth = 0;
  for (auto [at, c] : llvm::enumerate(text)) {
    depth += c == '{' || c == '[';
    depth -= depth != 0 && (c == '}' || c == ']');
    if (depth > mostNested)
      return at;
  }
  return StringRef::npos;
}

llvm::Expected<RuleRecord> kiln::parseRecord(StringRef text) {
  if (size_t at = findTooDeep(text); at != StringRef::npos)
    return llvm::make_error<RecordError>("it is nested too deep", at);
  auto document = llvm::json::parse(text);
  if (!document) {
    // "[line:column, byte=offset]: text"
    std::string what = llvm::toString(document.takeError());
    size_t offset = 0;
    StringRef(what).split("byte=").second.consumeInteger(10, offset);
    return llvm::make_error<RecordError>(what, std::min(offset, text.size()));
  }
  Faults faults;
  RuleRecord record;
  {
    Members members(&*document, "", faults);
    std::string version = members.text("format");
    if (StringRef(version).split('.').first != format.split('.').first)
      faults.add("format", "this Kiln reads " + format + ", not " + printable(version, 20));
    record.rule = members.text("rule");
    record.device = readDevice(members.get("device"), faults);
    record.clock = members.text("clock");
    record.date = members.text("date");
    if (!isDate(record.date))
      faults.add("date", "is not of the form YYYY-MM-DD");
    record.kiln = members.text("kiln");
    record.compiler = members.text("compiler");
    if (const llvm::json::Value *list = members.get("measurements")) {
      const llvm::json::Array *values = list->getAsArray();
      if (!values || values->empty())
        faults.add("measurements", values ? "is empty" : "is no list");
      else
        for (const auto &[i, value] : llvm::enumerate(*values))
          record.measurements.push_back(
              readMeasurement(value, "measurements[" + std::to_string(i) + "]", faults));
    }
    record.digest = members.text("digest");
  }
  if (!faults.first.empty())
    return llvm::make_error<RecordError>(faults.first, placeInRecord(text, faults.place));
  return record;
}
