//===- RuleCodec.cpp - Rules as bytes -------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fields, each a 64-bit length and bytes. Readers are the program that wrote
// them or one of the same build, so there is no version.
//
//===----------------------------------------------------------------------===//

#include "RuleFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace kiln;

void kiln::encodeField(std::string &bytes, StringRef field) {
  char length[8];
  llvm::support::endian::write64le(length, field.size());
  bytes.append(length, sizeof(length));
  bytes += field;
}

StringRef kiln::decodeField(StringRef &bytes) {
  uint64_t length = bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < 8 || bytes.size() - 8 < length) {
    bytes = "";
    return "";
  }
  StringRef field = bytes.substr(8, length);
  bytes = bytes.drop_front(8 + length);
  return field;
}

std::string kiln::encodeRule(const Rule &rule) {
  std::string bytes;
  for (StringRef field : {StringRef(rule.name), StringRef(rule.anchor), StringRef(rule.file),
                          StringRef(rule.doc), StringRef(rule.digest)})
    encodeField(bytes, field);
  encodeField(bytes, rule.kind == RuleKind::Fusion ? "fusion" : "algebra");
  encodeField(bytes, llvm::join(rule.spellings, "\n"));
  encodeField(bytes, llvm::join(rule.kernels, "\n"));
  std::string patterns;
  for (const RulePattern &pattern : rule.patterns) {
    encodeField(patterns, pattern.name);
    encodeField(patterns, llvm::join(pattern.needs, "\n"));
  }
  encodeField(bytes, patterns);
  encodeField(bytes, rule.bytecode);
  return bytes;
}

static std::vector<std::string> lines(StringRef text) {
  std::vector<std::string> result;
  for (StringRef line : llvm::split(text, '\n'))
    if (!line.empty())
      result.push_back(line.str());
  return result;
}

std::shared_ptr<Rule> kiln::decodeRule(StringRef bytes) {
  auto rule = std::make_shared<Rule>();
  rule->name = decodeField(bytes).str();
  rule->anchor = decodeField(bytes).str();
  rule->file = decodeField(bytes).str();
  rule->doc = decodeField(bytes).str();
  rule->digest = decodeField(bytes).str();
  rule->kind = decodeField(bytes) == "fusion" ? RuleKind::Fusion : RuleKind::Algebra;
  rule->spellings = lines(decodeField(bytes));
  rule->kernels = lines(decodeField(bytes));
  StringRef patterns = decodeField(bytes);
  while (!patterns.empty()) {
    RulePattern pattern;
    pattern.name = decodeField(patterns).str();
    pattern.needs = lines(decodeField(patterns));
    rule->patterns.push_back(std::move(pattern));
  }
  rule->bytecode = decodeField(bytes).str();
  return rule->bytecode.empty() ? nullptr : rule;
}

std::string kiln::packRules(StringRef declarations, const RuleList &rules) {
  std::string pack;
  encodeField(pack, declarations);
  for (const auto &rule : rules)
    encodeField(pack, encodeRule(*rule));
  return pack;
}
