//===- Json.cpp - Writing JSON --------------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Json.h"

#include <cmath>
#include <cstdio>

namespace kiln::run {

void JsonWriter::newLine() {
  out += '\n';
  out.append(2 * size_t(depth), ' ');
}

void JsonWriter::separate() {
  if (afterKey) {
    afterKey = false;
    return;
  }
  if (needsComma)
    out += ',';
  if (depth)
    newLine();
}

JsonWriter &JsonWriter::open(char bracket) {
  separate();
  out += bracket;
  ++depth;
  needsComma = false;
  return *this;
}

JsonWriter &JsonWriter::close(char bracket) {
  --depth;
  if (needsComma)
    newLine();
  out += bracket;
  needsComma = true;
  return *this;
}

void JsonWriter::quote(std::string_view string) {
  out += '"';
  for (char c : string) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (uint8_t(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(uint8_t(c)));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

JsonWriter &JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out += ": ";
  afterKey = true;
  return *this;
}

JsonWriter &JsonWriter::value(std::string_view string) {
  separate();
  quote(string);
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::value(bool flag) {
  separate();
  out += flag ? "true" : "false";
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::value(double number) {
  if (std::isnan(number))
    return value("nan");
  if (std::isinf(number))
    return value(number > 0 ? "inf" : "-inf");
  separate();
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  out += text;
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::value(uint64_t number) {
  separate();
  out += std::to_string(number);
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::value(int64_t number) {
  separate();
  out += std::to_string(number);
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::value(const std::vector<int64_t> &numbers) {
  separate();
  out += '[';
  for (size_t i = 0; i != numbers.size(); ++i)
    out += (i ? ", " : "") + std::to_string(numbers[i]);
  out += ']';
  needsComma = true;
  return *this;
}

std::string indentJson(const std::string &text) {
  std::string out;
  size_t depth = 0;
  auto newLine = [&] { out.append(1, '\n').append(2 * depth, ' '); };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      out.append(text, i, end + 1 - i);
      i = end;
    } else if (c == '{' || c == '[') {
      out += c;
      char next = i + 1 < text.size() ? text[i + 1] : 0;
      if (next == '}' || next == ']') {
        out += next;
        ++i;
        continue;
      }
      ++depth;
      newLine();
    } else if (c == '}' || c == ']') {
      depth -= depth ? 1 : 0;
      newLine();
      out += c;
    } else {
      out += c;
      if (c == ':')
        out += ' ';
      if (c == ',')
        newLine();
    }
  }
  return out;
}

} // namespace kiln::run
