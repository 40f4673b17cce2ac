//===- Record.h - What an executor without a plan would ask for -- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_BENCHMARKS_POOL_RECORD_H
#define KILN_BENCHMARKS_POOL_RECORD_H

#include <string>

namespace bench {

[[noreturn]] void fail(const std::string &text);

/// Runs the model once for each line of shapes (INPUT=1x17,...), on zeros, and
/// prints a trace.
void record(const char *path, int count, char **lines);

} // namespace bench

#endif // KILN_BENCHMARKS_POOL_RECORD_H
