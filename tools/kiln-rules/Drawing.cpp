//===- Drawing.cpp - A rule's pattern, before and after -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Drawing.h"
#include "kiln/Patterns/RuleLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mlir;
using namespace kiln;

namespace {
struct Row {
  std::string op;
  SmallVector<std::string> operands;
};

class Drawer {
public:
  Drawer(pdl::PatternOp pattern, const NativeTable &natives) : pattern(pattern), natives(natives) {}

  PatternDrawing run();

private:
  std::string nameOf(Value value);
  std::string nameOfConstant(Value value) const;
  void readMatch();
  void readRewrite();
  void readBuild(pdl::ApplyNativeRewriteOp call);
  void addAfter(Value result, StringRef op, ValueRange operands);
  static std::vector<std::string> box(ArrayRef<Row> rows, size_t firstNumber, StringRef foot,
                                      bool apart);

  pdl::PatternOp pattern;
  const NativeTable &natives;
  llvm::DenseMap<Value, std::string> names;
  unsigned letters = 0;
  SmallVector<Row> before, after;
  /// Of a fusion.
  std::string family;
  PatternDrawing drawing;
};
} // namespace

static StringRef withoutDialect(StringRef op) {
  op.consume_front("kiln.");
  return op;
}

static Attribute constantAttribute(Value value) {
  auto attribute = value.getDefiningOp<pdl::AttributeOp>();
  return attribute ? attribute.getValueAttr() : nullptr;
}

/// A short spelling of an attribute: rules hold numbers, names and lists of them.
static std::string spell(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    os << llvm::format("%.5g", number.getValueAsDouble());
  else if (auto string = dyn_cast_or_null<StringAttr>(attribute))
    os << string.getValue();
  else if (attribute)
    attribute.print(os, /*elideType=*/true);
  return text;
}

/// The number that a constraint says the operand is; empty for none.
std::string Drawer::nameOfConstant(Value value) const {
  for (Operation *user : value.getUsers())
    if (auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(user))
      if (call.getName() == "Splat" && call.getArgs()[0] == value)
        return spell(constantAttribute(call.getArgs()[1]));
  return "";
}

std::string Drawer::nameOf(Value value) {
  if (auto result = value.getDefiningOp<pdl::ResultOp>())
    return nameOf(result.getParent());
  if (Attribute attribute = constantAttribute(value))
    return spell(attribute);
  std::string &name = names[value];
  if (!name.empty())
    return name;
  if (auto call = value.getDefiningOp<pdl::ApplyNativeRewriteOp>()) {
    SmallVector<std::string> arguments;
    for (Value argument : call.getArgs())
      arguments.push_back(nameOf(argument));
    return name = call.getName().str() + "(" + llvm::join(arguments, ", ") + ")";
  }
  if (auto range = value.getDefiningOp<pdl::RangeOp>()) {
    SmallVector<std::string> members;
    for (Value member : range.getArguments())
      members.push_back(nameOf(member));
    return llvm::join(members, ", ");
  }
  if (isa<pdl::ValueType>(value.getType()))
    name = nameOfConstant(value);
  if (name.empty())
    name = std::string(1, static_cast<char>('a' + letters++ % 26));
  return name;
}

void Drawer::readMatch() {
  for (auto op : pattern.getOps<pdl::OperationOp>()) {
    Row row;
    row.op = op.getOpName() ? withoutDialect(*op.getOpName()).str() : "one of several";
    if (op->hasAttr(optionalOpAttr))
      row.op += "?";
    for (Value operand : op.getOperandValues())
      row.operands.push_back(nameOf(operand));
    before.push_back(std::move(row));
    names[op.getOp()] = "%" + std::to_string(before.size());
  }
  std::set<std::string> seen;
  for (auto call : pattern.getOps<pdl::ApplyNativeConstraintOp>()) {
    StringRef name = call.getName();
    name.consume_front("kiln.holds.");
    const Native *native = natives.find(name, /*isRewrite=*/false);
    if (!native || name == "Splat")
      continue;
    SmallVector<std::string> arguments;
    for (Value argument : call.getArgs())
      arguments.push_back(nameOf(argument));
    std::string text = name.str() + "(" + llvm::join(arguments, ", ") + ")";
    if (seen.insert(text).second)
      drawing.constraints.emplace_back(text, native->doc);
  }
}

/// An op that the rewrite makes: again the same one is the same row.
void Drawer::addAfter(Value result, StringRef op, ValueRange operands) {
  Row row{withoutDialect(op).str(), {}};
  for (Value operand : operands)
    row.operands.push_back(nameOf(operand));
  auto same = llvm::find_if(after, [&](const Row &other) {
    return other.op == row.op && other.operands == row.operands;
  });
  auto number = static_cast<size_t>(same - after.begin());
  if (same == after.end())
    after.push_back(std::move(row));
  names[result] = "%" + std::to_string(before.size() + number + 1);
}

void Drawer::readBuild(pdl::ApplyNativeRewriteOp call) {
  auto name = dyn_cast_or_null<StringAttr>(constantAttribute(call.getArgs()[0]));
  auto attributes = dyn_cast_or_null<ArrayAttr>(constantAttribute(call.getArgs()[1]));
  if (name && attributes)
    addAfter(call.getResult(0), name, call.getArgs().drop_front(2 + attributes.size()));
}

void Drawer::readRewrite() {
  Region &body = pattern.getRewriter().getBodyRegion();
  if (body.empty())
    return;
  for (auto call : body.front().getOps<pdl::ApplyNativeRewriteOp>()) {
    StringRef name = call.getName();
    if (name == "Fuse") {
      family = spell(constantAttribute(call.getArgs()[1]));
      after = before;
    } else if (name == "kiln.build") {
      readBuild(call);
    } else if (call.getNumResults() == 1 && isa<pdl::OperationType>(call.getResult(0).getType())) {
      auto like = call.getArgs()[0].getDefiningOp<pdl::OperationOp>();
      addAfter(call.getResult(0), like && like.getOpName() ? *like.getOpName() : name,
               call.getArgs().drop_front());
    } else if (name == "kiln.replace" && isa<pdl::ValueType>(call.getArgs()[1].getType()) &&
               after.empty()) {
      after.push_back({"nothing but", {nameOf(call.getArgs()[1])}});
    }
  }
}

/// Rows of a box, each in a cell of its own where they are `apart`. All lines have
/// the same number of columns.
std::vector<std::string> Drawer::box(ArrayRef<Row> rows, size_t firstNumber, StringRef foot,
                                     bool apart) {
  size_t opWidth = 0, numberWidth = std::to_string(firstNumber + rows.size() - 1).size() + 1;
  for (const Row &row : rows)
    opWidth = std::max(opWidth, row.op.size());
  auto padded = [](std::string text, size_t columns) {
    return text + std::string(columns - text.size() + 1, ' ');
  };
  SmallVector<std::string> texts;
  size_t width = foot.size() + 2;
  for (const auto &[i, row] : llvm::enumerate(rows)) {
    texts.push_back(padded("%" + std::to_string(firstNumber + i), numberWidth) +
                    padded(row.op, opWidth) + llvm::join(row.operands, ", "));
    width = std::max(width, texts.back().size());
  }
  auto line = [&](StringRef left, StringRef right) {
    std::string text = left.str();
    for (size_t i = 0; i < width + 2; ++i)
      text += "─";
    return text + right.str();
  };
  std::vector<std::string> lines{line("┌", "┐")};
  for (const auto &[i, text] : llvm::enumerate(texts)) {
    if (i && apart)
      lines.push_back(line("├", "┤"));
    lines.push_back("│ " + text + std::string(width - text.size(), ' ') + " │");
  }
  std::string last = "└";
  if (!foot.empty())
    last += "─ " + foot.str() + " ";
  for (size_t i = foot.empty() ? 0 : foot.size() + 3; i < width + 2; ++i)
    last += "─";
  lines.push_back(last + "┘");
  return lines;
}

/// Columns of a terminal: continuation bytes of UTF-8 take none.
static size_t columns(StringRef text) {
  return static_cast<size_t>(
      llvm::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

PatternDrawing Drawer::run() {
  readMatch();
  readRewrite();
  bool fuses = !family.empty();
  std::vector<std::string> left = box(before, 1, "", /*apart=*/true);
  std::vector<std::string> right =
      box(after, fuses ? 1 : before.size() + 1, fuses ? family + " kernel" : "", /*apart=*/!fuses);
  size_t width = columns(left.front());
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string line = i < left.size() ? left[i] : "";
    if (i < right.size())
      line += std::string(width - columns(line), ' ') + (i == 1 ? "  =>  " : "      ") + right[i];
    drawing.lines.push_back(std::move(line));
  }
  return std::move(drawing);
}

PatternDrawing kiln::drawPattern(pdl::PatternOp pattern, const NativeTable &natives) {
  return Drawer(pattern, natives).run();
}
