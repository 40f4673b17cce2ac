//===- Matrix.h - mma and ldmatrix ------------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_MATRIX_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_MATRIX_H

#include <cstdint>

namespace kiln::cudasim {

struct LdmatrixArgs {
  uint32_t *registers;     // [count][4]
  const void *const *rows; // [count]
  int count;
};

struct MmaArgs {
  int kind;              // MmaKind
  void *d;               // [m][n][4]
  const uint32_t *a, *b; // [m][4], [n][2]
  int m, n;
};

/// `lanes` points to the 32 lanes' arguments.
void runLdmatrix(void *const *lanes, bool transposed);
void runMma(void *const *lanes);

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_MATRIX_H
