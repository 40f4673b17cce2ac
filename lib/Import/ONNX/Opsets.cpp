//===- Opsets.cpp - Which version of which operator set -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lower.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;

void Lowering::readOpsets(const OpsetList &list, OpsetMap &opsets, const std::string &owner) {
  auto blame = [&](Diagnostic &d) {
    if (!owner.empty())
      d.note("in the opset_import of function " + owner);
  };
  llvm::StringSet<> spellings;
  for (const auto &import : list) {
    std::string domain = canonicalDomain(import.domain()).str();
    std::string shown = shownDomain(domain);
    int64_t version = import.version();
    auto [it, isNew] = opsets.try_emplace(domain, version);
    if (!isNew) {
      // '' and 'ai.onnx' are one domain; some exporters list both. Of one spelling,
      // two lines are a fault even if they agree.
      if (spellings.insert(import.domain()).second && it->second == version)
        continue;
      blame(diags.report(Diag::DuplicateOpset, shown, it->second, version));
      it->second = badOpset;
      continue;
    }
    spellings.insert(import.domain());
    if (version < 1) {
      blame(diags.report(Diag::BadOpsetVersion, shown, version)
                .nearestSupported(shown + " opset " + std::to_string(options.oldestOpset) + " to " +
                                  std::to_string(newestOpset)));
      it->second = badOpset;
    } else if (domain.empty() && (version < options.oldestOpset || version > newestOpset)) {
      bool old = version < options.oldestOpset;
      blame(diags.report(old ? Diag::OpsetTooOld : Diag::OpsetTooNew, shown, version,
                         old ? options.oldestOpset : newestOpset));
      it->second = badOpset;
    }
  }
  // Before ir_version 3 there was no opset_import, and opset 1 was meant.
  if (owner.empty() && list.empty() && model.irVersion > 0 && model.irVersion < 3) {
    diags.report(Diag::OpsetTooOld, "ai.onnx", 1, options.oldestOpset)
        .note("ir_version " + std::to_string(model.irVersion) + " implies opset 1");
    opsets[""] = badOpset;
  }
}

int64_t Lowering::opsetOf(const Node &node, const Frame &frame) {
  auto it = frame.opsets.find(node.domain);
  // A function of the model needs no operator set.
  if (findFunction(node.domain, node.opType, node.overload))
    return it == frame.opsets.end() ? 0 : it->second;
  if (!SchemaTable::knowsDomain(node.domain))
    return it == frame.opsets.end() ? 0 : it->second;
  std::string shown = shownDomain(node.domain);
  std::string key =
      (frame.function ? frame.function->domain() + "." + frame.function->name() : "") + ":" +
      node.domain;
  if (it == frame.opsets.end()) {
    if (reportedDomains.insert(key).second) {
      Diagnostic &d = diags.report(Diag::MissingOpset, shown)
                          .atNode(node.label())
                          .withOp(node.opType, node.domain, 0)
                          .nearestSupported(shown + " up to opset " +
                                            std::to_string(SchemaTable::newestOpset(node.domain)));
      if (frame.function)
        d.note("in the opset_import of function " + printable(frame.function->name()));
    }
    return badOpset;
  }
  if (it->second > SchemaTable::newestOpset(node.domain)) {
    if (reportedDomains.insert(key).second)
      diags.report(Diag::OpsetTooNew, shown, it->second, SchemaTable::newestOpset(node.domain))
          .atNode(node.label());
    return badOpset;
  }
  return it->second;
}
