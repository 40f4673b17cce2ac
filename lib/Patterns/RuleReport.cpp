//===- RuleReport.cpp - What rules did, and why ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/RuleReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace kiln;
using llvm::StringRef;

StringRef kiln::verdictName(Verdict verdict) {
  switch (verdict) {
  case Verdict::Fired:
    return "fired";
  case Verdict::Rewrote:
    return "rewrote";
  case Verdict::Lost:
    return "lost";
  case Verdict::Refused:
    return "refused";
  }
  llvm_unreachable("unknown verdict");
}

/// Bytes of a match's names that people are shown.
static constexpr size_t mostShown = 4096;

/// Matches of each rule, in the order in which they were found.
static std::map<StringRef, std::vector<const RuleMatch *>>
byRule(const std::vector<RuleMatch> &matches) {
  std::map<StringRef, std::vector<const RuleMatch *>> result;
  for (const RuleMatch &match : matches)
    result[match.rule].push_back(&match);
  return result;
}

static bool applied(const RuleMatch *match) {
  return match->verdict == Verdict::Fired || match->verdict == Verdict::Rewrote;
}

static std::string evidence(const RuleMatch &match, const PredictionRates &rates) {
  if (!RuleReport::hasEvidence(match))
    return "";
  if (match.basis != EvidenceClass::Predicted)
    return match.recordText;
  std::string text = "predicted: " + std::to_string(match.savedBytes) + " bytes less traffic, " +
                     std::to_string(match.savedOverGeneric) + " over the generic fuser";
  if (!rates.device.empty())
    text +=
        llvm::formatv(" ({0:F2} us on {1})", static_cast<double>(match.gain) * 1e-6, rates.device);
  return text;
}

void RuleReport::printText(llvm::raw_ostream &os) const {
  auto grouped = byRule(matches);
  std::string idle;
  for (const auto &rule : rules) {
    auto found = grouped.find(rule->name);
    if (found == grouped.end()) {
      idle += (idle.empty() ? "" : ", ") + rule->name;
      continue;
    }
    size_t used = llvm::count_if(found->second, applied);
    os << rule->name << " (" << (rule->kind == RuleKind::Fusion ? "fusion" : "algebra")
       << "): " << found->second.size() << (found->second.size() == 1 ? " match, " : " matches, ")
       << used << (rule->kind == RuleKind::Fusion ? " fired\n" : " rewrote\n");
    for (const RuleMatch *match : found->second) {
      os << "  " << verdictName(match->verdict) << " "
         << printable(llvm::join(match->nodes.empty() ? match->ops : match->nodes, ", "),
                      mostShown);
      if (!match->kernel.empty())
        os << " -> " << match->kernel;
      os << "\n";
      if (std::string text = evidence(*match, rates); !text.empty())
        os << "    " << text << "\n";
      if (!match->reason.empty())
        os << "    because " << match->reason << "\n";
      for (const std::string &rival : match->beat)
        os << "    beat " << rival << "\n";
    }
  }
  for (const auto &[rule, text] : switchedOff)
    os << rule << ": switched off, " << text << "\n";
  if (!idle.empty())
    os << "no match: " << idle << "\n";
  if (device) {
    os << "\nOn the device:\n";
    device->printText(os);
  }
}

static void printMembers(const RuleReport &report, llvm::json::OStream &json) {
  auto strings = [&](StringRef key, const std::vector<std::string> &values) {
    json.attributeArray(key, [&] {
      for (const std::string &value : values)
        json.value(value);
    });
  };
  auto grouped = byRule(report.matches);
  json.attributeArray("rules", [&] {
    for (const auto &rule : report.rules)
      json.object([&] {
        json.attribute("name", rule->name);
        json.attribute("kind", rule->kind == RuleKind::Fusion ? "fusion" : "algebra");
        json.attribute("built_in", rule->builtIn);
        json.attributeArray("matches", [&] {
          for (const RuleMatch *match : grouped[rule->name])
            json.object([&] {
              json.attribute("pattern", match->pattern);
              json.attribute("verdict", verdictName(match->verdict));
              strings("nodes", match->nodes);
              strings("ops", match->ops);
              if (!match->kernel.empty())
                json.attribute("kernel", match->kernel);
              if (!match->reason.empty())
                json.attribute("reason", match->reason);
              if (RuleReport::hasEvidence(*match))
                json.attributeObject("evidence", [&] {
                  json.attribute("basis", evidenceName(match->basis));
                  if (match->basis != EvidenceClass::Predicted) {
                    json.attribute("speedup", match->speedup);
                    strings("records", match->records);
                    json.attribute("text", match->recordText);
                  }
                  if (rule->kind == RuleKind::Algebra)
                    return;
                  json.attribute("saved_bytes", match->savedBytes);
                  json.attribute("saved_over_generic", match->savedOverGeneric);
                  json.attribute("gain_ps", match->gain);
                });
              if (match->verdict == Verdict::Fired)
                strings("beat", match->beat);
            });
        });
      });
  });
  json.attributeObject("work", [&] {
    json.attribute("patterns", report.work.patterns);
    json.attribute("constraints", report.work.calls);
  });
  json.attributeArray("switched_off", [&] {
    for (const auto &off : report.switchedOff)
      json.object([&] {
        json.attribute("name", off.first);
        json.attribute("reason", off.second);
      });
  });
  if (report.device)
    json.attributeObject("device", [&] { printMembers(*report.device, json); });
}

void RuleReport::printJSON(llvm::raw_ostream &os,
                           llvm::function_ref<void(llvm::json::OStream &)> writeMore) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", "1.0");
    printMembers(*this, json);
    if (writeMore)
      writeMore(json);
  });
  os << "\n";
}
