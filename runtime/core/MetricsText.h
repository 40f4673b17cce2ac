//===- MetricsText.h - Figures as Prometheus reads them ------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_METRICSTEXT_H
#define KILN_RUNTIME_CORE_METRICSTEXT_H

#include <cstddef>
#include <cstdint>

namespace kiln::rt {

/// Appends to the caller's memory, and counts what did not fit. Names get the
/// prefix kiln_, samples the label of their model. `labels` are further ones, each
/// with a comma before it.
class MetricsText {
public:
  MetricsText(const char *model, char *out, size_t size) : model(model), out(out), size(size) {
    if (out && size)
      *out = 0;
  }

  void head(const char *name, const char *type, const char *help) {
    print("# HELP kiln_%s %s\n# TYPE kiln_%s %s\n", name, help, name, type);
  }
  void sample(const char *name, const char *labels, uint64_t value);
  void single(const char *name, const char *type, const char *help, uint64_t value) {
    head(name, type, help);
    sample(name, "", value);
  }
  /// A histogram whose bucket i counts nanoseconds in [2^i, 2^(i+1)), with their sum.
  void times(const char *name, const char *help, const uint64_t *buckets, uint32_t count,
             uint64_t sum);
  /// The same of whole numbers.
  void sizes(const char *name, const char *help, const uint64_t *buckets, uint32_t count,
             uint64_t sum);

  /// Of all, without the closing NUL.
  size_t length() const { return used; }

private:
  [[gnu::format(printf, 2, 3)]] void print(const char *format, ...);
  void beginSample(const char *name, const char *labels);
  void histogram(const char *name, const char *help, const uint64_t *buckets, uint32_t first,
                 uint32_t last, uint32_t count, uint64_t sum, bool isTime);
  /// Without floating point, whose text would depend on the locale.
  static void formatSeconds(char (&text)[32], uint64_t nanoseconds);

  const char *model;
  char *out;
  size_t size;
  size_t used = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_METRICSTEXT_H
