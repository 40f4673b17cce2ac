//===- Json.h - Writing JSON --------------------------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_JSON_H
#define KILN_TOOLS_KILN_RUN_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::run {

/// Appends one value after the other; begin and end have to match.
class JsonWriter {
public:
  JsonWriter &beginObject() { return open('{'); }
  JsonWriter &endObject() { return close('}'); }
  JsonWriter &beginArray() { return open('['); }
  JsonWriter &endArray() { return close(']'); }
  JsonWriter &key(std::string_view name);
  JsonWriter &value(std::string_view string);
  JsonWriter &value(const char *string) { return value(std::string_view(string)); }
  JsonWriter &value(bool flag);
  /// Infinities and NaN, which JSON lacks, become strings.
  JsonWriter &value(double number);
  JsonWriter &value(uint64_t number);
  JsonWriter &value(int64_t number);
  JsonWriter &value(uint32_t number) { return value(uint64_t(number)); }
  JsonWriter &value(int number) { return value(int64_t(number)); }
  JsonWriter &value(const std::vector<int64_t> &numbers);

  const std::string &text() const { return out; }

private:
  JsonWriter &open(char bracket);
  JsonWriter &close(char bracket);
  void separate();
  void newLine();
  void quote(std::string_view string);

  std::string out;
  unsigned depth = 0;
  bool needsComma = false;
  bool afterKey = false;
};

/// A document in one line, spread over lines.
std::string indentJson(const std::string &text);

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_JSON_H
