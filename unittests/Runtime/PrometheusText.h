//===- PrometheusText.h - What a text of metrics has to be --- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_PROMETHEUSTEXT_H
#define KILN_UNITTESTS_RUNTIME_PROMETHEUSTEXT_H

#include <cstring>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

namespace kiln::test {

/// `write` as kiln_model_metrics_text is, of an object that does not change. The
/// text's form is checked, and what happens without room; returns the text.
template <typename Write> std::string expectPrometheusText(Write write) {
  size_t length = write(nullptr, 0);
  std::string text(length + 1, '?');
  EXPECT_EQ(write(text.data(), text.size()), length);
  EXPECT_EQ(text[length], '\0');
  text.resize(length);
  // Every sample has a head, and every line one of the three forms.
  std::istringstream lines(text);
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# HELP ", 0) == 0)
      continue;
    if (line.rfind("# TYPE ", 0) == 0) {
      family = line.substr(7, line.find(' ', 7) - 7);
      continue;
    }
    EXPECT_EQ(line.rfind(family, 0), 0u) << line;
    size_t space = line.rfind(' ');
    EXPECT_EQ(line.find_first_not_of("0123456789.", space + 1), std::string::npos) << line;
  }
  // Cut where there is no room.
  char small[20];
  std::memset(small, 'x', sizeof small);
  EXPECT_EQ(write(small, sizeof small), length);
  EXPECT_EQ(std::string(small), text.substr(0, 19));
  return text;
}

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_PROMETHEUSTEXT_H
