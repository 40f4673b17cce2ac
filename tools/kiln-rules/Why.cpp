//===- Why.cpp - How the decisions of two artefacts differ ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Why.h"
#include "kiln/Target/Link/Manifest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace llvm;
using namespace kiln;

using Decision = Manifest::Decision;

namespace {
/// Something that has a value in the one artefact, the other, or both.
struct Difference {
  std::string name;
  std::optional<std::string> left, right;
};

struct DecisionDifference {
  std::string rule;
  std::vector<std::string> site;
  /// Null where the rule did not match.
  const Decision *left = nullptr, *right = nullptr;
};

struct Comparison {
  std::vector<Difference> made, options, rules;
  std::vector<DecisionDifference> decisions;

  bool same() const {
    return made.empty() && options.empty() && rules.empty() && decisions.empty();
  }
};

/// Texts by name.
using Facts = std::map<std::string, std::string>;
} // namespace

static std::vector<Difference> compareFacts(const Facts &left, const Facts &right) {
  std::vector<Difference> result;
  auto find = [](const Facts &facts, const std::string &name) {
    auto it = facts.find(name);
    return it == facts.end() ? std::nullopt : std::optional(it->second);
  };
  Facts all = left;
  all.insert(right.begin(), right.end());
  for (const auto &[name, value] : all)
    if (auto a = find(left, name), b = find(right, name); a != b)
      result.push_back({name, a, b});
  return result;
}

static Facts factsOf(const Manifest &manifest) {
  return {{"kiln", manifest.kiln},
          {"compiler", manifest.compiler},
          {"model", manifest.modelFile + " " + manifest.modelDigest},
          {"target", manifest.target + " " + manifest.cpu}};
}

static Facts rulesOf(const Manifest &manifest) {
  Facts facts;
  for (const Manifest::Rule &rule : manifest.rules)
    facts[rule.name] = rule.digest;
  return facts;
}

/// By rule and site; a rule that matches one site twice gives its matches in
/// order.
using Sites =
    std::map<std::pair<std::string, std::vector<std::string>>, std::vector<const Decision *>>;

static Sites sitesOf(const Manifest &manifest) {
  Sites sites;
  for (const Decision &decision : manifest.decisions)
    sites[{decision.rule, decision.site}].push_back(&decision);
  return sites;
}

static bool sameDecision(const Decision *left, const Decision *right) {
  return left && right && left->verdict == right->verdict && left->evidence == right->evidence &&
         left->records == right->records;
}

static std::vector<DecisionDifference> compareSites(const Sites &left, const Sites &right) {
  std::vector<DecisionDifference> result;
  static const std::vector<const Decision *> none;
  auto find = [](const Sites &sites, const auto &key) -> const std::vector<const Decision *> & {
    auto it = sites.find(key);
    return it == sites.end() ? none : it->second;
  };
  Sites all = left;
  all.insert(right.begin(), right.end());
  for (const auto &[key, unused] : all) {
    const auto &a = find(left, key), &b = find(right, key);
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      DecisionDifference difference{key.first, key.second, i < a.size() ? a[i] : nullptr,
                                    i < b.size() ? b[i] : nullptr};
      if (!sameDecision(difference.left, difference.right))
        result.push_back(std::move(difference));
    }
  }
  return result;
}

static Comparison compare(const Manifest &left, const Manifest &right) {
  return {compareFacts(factsOf(left), factsOf(right)), compareFacts(left.options, right.options),
          compareFacts(rulesOf(left), rulesOf(right)), compareSites(sitesOf(left), sitesOf(right))};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string describe(const Decision *decision) {
  if (!decision)
    return "no match";
  std::string text = decision->verdict;
  if (!decision->evidence.empty())
    text += ", " + decision->evidence;
  for (const std::string &record : decision->records)
    text += ", record " + StringRef(record).split(':').second.take_front(12).str();
  if (!decision->reason.empty())
    text += ", because " + decision->reason;
  return text;
}

static void printText(const Comparison &comparison, StringRef left, StringRef right) {
  size_t width = std::max(left.size(), right.size()) + 2;
  auto line = [&](StringRef side, const Twine &text) {
    outs() << "  " << left_justify((side + ":").str(), static_cast<unsigned>(width)) << text
           << "\n";
  };
  auto section = [&](StringRef title, const std::vector<Difference> &differences,
                     StringRef absent) {
    for (const Difference &difference : differences) {
      outs() << title << difference.name << "\n";
      line(left, difference.left.value_or(absent.str()));
      line(right, difference.right.value_or(absent.str()));
    }
  };
  section("", comparison.made, "");
  section("option ", comparison.options, "not given");
  section("rule ", comparison.rules, "not used");
  for (const DecisionDifference &difference : comparison.decisions) {
    outs() << difference.rule << " at " << join(difference.site, ", ") << "\n";
    line(left, describe(difference.left));
    line(right, describe(difference.right));
  }
  if (comparison.same())
    outs() << "no decision differs\n";
  else
    outs() << comparison.decisions.size()
           << (comparison.decisions.size() == 1 ? " decision differs\n" : " decisions differ\n");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printJSON(const Comparison &comparison, StringRef left, StringRef right) {
  json::OStream json(outs(), /*IndentSize=*/2);
  auto strings = [&](StringRef key, const std::vector<std::string> &values) {
    json.attributeArray(key, [&] {
      for (const std::string &value : values)
        json.value(value);
    });
  };
  auto optional = [&](StringRef key, const std::optional<std::string> &text) {
    json.attribute(key, text ? json::Value(*text) : json::Value(nullptr));
  };
  auto section = [&](StringRef key, const std::vector<Difference> &differences) {
    json.attributeArray(key, [&] {
      for (const Difference &difference : differences)
        json.object([&] {
          json.attribute("name", difference.name);
          optional("a", difference.left);
          optional("b", difference.right);
        });
    });
  };
  auto side = [&](StringRef key, const Decision *decision) {
    if (!decision)
      return json.attribute(key, nullptr);
    json.attributeObject(key, [&] {
      json.attribute("verdict", decision->verdict);
      json.attribute("evidence", decision->evidence);
      strings("records", decision->records);
      json.attribute("reason", decision->reason);
    });
  };
  json.object([&] {
    json.attribute("format", "kiln-why 1.0");
    json.attribute("a", json::fixUTF8(left));
    json.attribute("b", json::fixUTF8(right));
    json.attribute("same", comparison.same());
    section("made", comparison.made);
    section("options", comparison.options);
    section("rules", comparison.rules);
    json.attributeArray("decisions", [&] {
      for (const DecisionDifference &difference : comparison.decisions)
        json.object([&] {
          json.attribute("rule", difference.rule);
          strings("site", difference.site);
          side("a", difference.left);
          side("b", difference.right);
        });
    });
  });
  outs() << "\n";
}

int kiln::compareDecisions(StringRef left, StringRef right, bool json) {
  const StringRef paths[] = {left, right};
  std::optional<Manifest> manifests[2];
  for (auto [path, manifest] : zip(paths, manifests)) {
    Expected<Manifest> read = manifestOf(path);
    if (read)
      manifest = std::move(*read);
    else
      errs() << "kiln-rules: error: " << toString(read.takeError()) << "\n";
  }
  if (!manifests[0] || !manifests[1])
    return 4;
  Comparison comparison = compare(*manifests[0], *manifests[1]);
  if (json)
    printJSON(comparison, left, right);
  else
    printText(comparison, left, right);
  return comparison.same() ? 0 : 1;
}
