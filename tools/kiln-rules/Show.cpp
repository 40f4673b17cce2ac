//===- Show.cpp - What a rule matches, wants and is worth -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Show.h"
#include "Drawing.h"
#include "kiln/Patterns/Instance.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace kiln;

StringRef kiln::kindName(RuleKind kind) { return kind == RuleKind::Fusion ? "fusion" : "algebra"; }

namespace {
/// A pattern as it is shown.
struct ShownPattern {
  std::string name;
  size_t variants = 0;
  PatternDrawing drawing;
};
} // namespace

static std::vector<ShownPattern> patternsOf(const Rule &rule, const NativeTable &natives,
                                            MLIRContext &context) {
  std::vector<ShownPattern> shown;
  auto pdl = parseSourceString<ModuleOp>(rule.bytecode, &context);
  for (const std::string &name : patternNames(rule)) {
    ShownPattern &pattern = shown.emplace_back();
    pattern.name = name;
    pattern.variants =
        static_cast<size_t>(llvm::count_if(rule.patterns, [&](const RulePattern &variant) {
          return StringRef(variant.name).split('#').first == name;
        }));
    if (pdl::PatternOp fullest = pdl ? fullestVariant(*pdl, name) : nullptr)
      pattern.drawing = drawPattern(fullest, natives);
  }
  return shown;
}

static std::string fileOf(const Rule &rule) {
  return rule.builtIn ? "patterns/rules/" + rule.file : rule.file;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string micros(int64_t nanoseconds) {
  return llvm::formatv("{0:F2} us", static_cast<double>(nanoseconds) * 1e-3);
}

static void printText(const RuleRecord &record, raw_ostream &os) {
  os << "\nmeasured on " << record.device.slug << " (" << record.device.cpu << "), " << record.date
     << ", " << record.kiln << ":\n";
  for (const Measurement &m : record.measurements)
    os << llvm::formatv("  {0,-20} {1,-4} {2,-7} {3,13} -> {4,13}  {5:F2}x  {6}\n", m.pattern,
                        m.bucket.dtype, m.size, micros(m.unfused.median), micros(m.fused.median),
                        m.speedup(), m.instance);
}

static void printText(const Rule &rule, ArrayRef<ShownPattern> patterns,
                      const std::vector<RuleRecord> &records, raw_ostream &os) {
  os << rule.name << ": " << kindName(rule.kind) << " rule, " << (rule.builtIn ? "built in (" : "")
     << fileOf(rule) << (rule.builtIn ? ")" : "") << "\n\n"
     << rule.doc << "\n";
  if (!rule.spellings.empty())
    os << "\nseen in models:\n";
  for (const std::string &spelling : rule.spellings)
    os << "  " << spelling << "\n";
  for (const ShownPattern &pattern : patterns) {
    os << "\npattern " << pattern.name;
    if (pattern.variants > 1)
      os << ", in " << pattern.variants << " orders of operands and choices of optional ops";
    os << ":\n";
    for (const std::string &line : pattern.drawing.lines)
      os << "  " << line << "\n";
    for (const auto &[text, doc] : pattern.drawing.constraints)
      os << "  " << text << ": " << doc << "\n";
  }
  for (const RuleRecord &record : records)
    printText(record, os);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printJSON(const Measurement &m, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("pattern", m.pattern);
    json.attribute("dtype", m.bucket.dtype);
    json.attribute("size", m.size);
    json.attribute("flops", m.bucket.flops);
    json.attribute("bytes", m.bucket.bytes);
    json.attribute("instance", m.instance);
    json.attribute("n", m.pairs);
    json.attribute("unfused_ns", m.unfused.median);
    json.attribute("unfused_mad_ns", m.unfused.mad);
    json.attribute("fused_ns", m.fused.median);
    json.attribute("fused_mad_ns", m.fused.mad);
    json.attribute("saved_bytes", m.savedBytes);
    json.attribute("peak_bytes_change", m.peakBytesChange);
    json.attribute("max_error", m.maxError);
    json.attribute("error_bound", m.errorBound);
  });
}

static void printJSON(const Rule &rule, ArrayRef<ShownPattern> patterns,
                      const std::vector<RuleRecord> &records, raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  auto texts = [&](StringRef key, const std::vector<std::string> &list) {
    json.attributeArray(key, [&] {
      for (const std::string &text : list)
        json.value(text);
    });
  };
  json.object([&] {
    json.attribute("name", rule.name);
    json.attribute("kind", kindName(rule.kind));
    json.attribute("file", fileOf(rule));
    json.attribute("doc", rule.doc);
    texts("kernels", rule.kernels);
    texts("seen", rule.spellings);
    json.attributeArray("patterns", [&] {
      for (const ShownPattern &pattern : patterns)
        json.object([&] {
          json.attribute("name", pattern.name);
          json.attribute("variants", pattern.variants);
          texts("drawing", pattern.drawing.lines);
          json.attributeArray("constraints", [&] {
            for (const auto &constraint : pattern.drawing.constraints)
              json.object([&] {
                json.attribute("call", constraint.first);
                json.attribute("meaning", constraint.second);
              });
          });
        });
    });
    json.attributeArray("records", [&] {
      for (const RuleRecord &record : records)
        json.object([&] {
          json.attribute("device", record.device.slug);
          json.attribute("cpu", record.device.cpu);
          json.attribute("date", record.date);
          json.attribute("kiln", record.kiln);
          json.attribute("digest", record.digest);
          json.attributeArray("measurements", [&] {
            for (const Measurement &m : record.measurements)
              printJSON(m, json);
          });
        });
    });
  });
  os << "\n";
}

void kiln::showRule(const Rule &rule, const NativeTable &natives, RecordLibrary &records,
                    MLIRContext &context, kiln::DiagnosticEngine &diags, bool json,
                    raw_ostream &os) {
  std::vector<ShownPattern> patterns = patternsOf(rule, natives, context);
  const std::vector<RuleRecord> &known = records.of(rule.name, diags);
  if (json)
    printJSON(rule, patterns, known, os);
  else
    printText(rule, patterns, known, os);
}
