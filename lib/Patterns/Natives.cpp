//===- Natives.cpp - C++ functions that rules may call --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Natives.h"
#include "kiln/Patterns/Names.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace kiln;

StringRef kiln::kindName(char letter) {
  switch (letter) {
  case 'v':
    return "Value";
  case 'o':
    return "Op";
  case 'a':
    return "Attr";
  case 't':
    return "Type";
  case 'V':
    return "ValueRange";
  default:
    return "TypeRange";
  }
}

std::string Native::declaration() const {
  std::string text = (isRewrite ? "Rewrite " : "Constraint ") + name + "(";
  for (auto [i, parameter] : llvm::enumerate(parameters))
    text += (i ? ", " : "") + parameter + ": " + kindName(arguments[i]).str();
  text += ")";
  if (!results.empty())
    text += " -> " + kindName(results[0]).str();
  return text + ";";
}

Native &NativeTable::add(StringLiteral name, Names parameters, StringLiteral doc, bool isRewrite) {
  Native &native = natives[{isRewrite, name.str()}];
  assert(native.name.empty() && "two natives of one name");
  native.name = name.str();
  native.doc = doc.str();
  native.isRewrite = isRewrite;
  for (StringRef parameter : parameters)
    native.parameters.push_back(parameter.str());
  return native;
}

Native &NativeTable::marker(StringLiteral name, Names parameters, StringLiteral doc,
                            StringLiteral arguments, bool isRewrite) {
  Native &native = add(name, parameters, doc, isRewrite);
  native.arguments = arguments.str();
  native.isMarker = true;
  native.run = [](PatternRewriter &, PDLResultList &, ArrayRef<PDLValue>) { return failure(); };
  return native;
}

const Native *NativeTable::find(StringRef name, bool isRewrite) const {
  auto it = natives.find({isRewrite, name.str()});
  return it == natives.end() ? nullptr : &it->second;
}

std::vector<StringRef> NativeTable::names(bool isRewrite) const {
  std::vector<StringRef> known;
  for (const auto &[key, native] : natives)
    if (key.first == isRewrite)
      known.push_back(native.name);
  return known;
}

std::string kiln::didYouMean(StringRef name, ArrayRef<StringRef> known) {
  StringRef best;
  unsigned least = std::max<unsigned>(2, static_cast<unsigned>(name.size()) / 3) + 1;
  for (StringRef candidate : known) {
    unsigned distance = candidate.edit_distance(name, /*AllowReplacements=*/true, least);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : "; did you mean '" + best.str() + "'?";
}

bool kiln::isMeantBy(double wanted, double number) {
  // As far off as a constant of half type is from the number that it stands for.
  constexpr double halfPrecision = 1.0 / 2048;
  // Infinities are equal, and have no distance.
  return number == wanted || std::abs(number - wanted) <= halfPrecision * std::abs(wanted);
}

void kiln::writeDeclarations(const NativeTable &table, raw_ostream &os) {
  os << "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
        "//\n"
        "// Constraints and rewrites that are C++ functions (patterns/constraints, "
        "patterns/rewrites).\n"
        "// Generated from them: KILN_UPDATE_DOCS=1 build/unittests/PatternsTests\n";
  for (const auto &[key, native] : table.all())
    os << "\n// " << native.doc << "\n" << native.declaration() << "\n";
}

namespace kiln {
#define KILN_NATIVES(F) void register##F##Natives(NativeTable &);
#include "patterns/Natives.inc"
#undef KILN_NATIVES
} // namespace kiln

void kiln::registerNatives(NativeTable &table) {
  // What the loader and the matcher do themselves.
  table.marker("Optional", {"op"},
               "The rule also matches without `op`, its first operand in its place.", "o", false);
  table.marker("Fuse", {"root", "kernel"},
               "Proposes a kernel of this family for every op that the pattern names.", "oa", true);
#define KILN_NATIVES(F) register##F##Natives(table);
#include "patterns/Natives.inc"
#undef KILN_NATIVES
}
