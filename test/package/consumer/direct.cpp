// Two models, linked as libraries, in one C++ program. Part of Kiln, under the Apache License v2.0
// with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "affine.h"
#include "run.h"
#include "twice.h"
#include <array>
#include <type_traits>

static_assert(std::is_same_v<AFFINE_TYPE_INPUT_X, float>);

int main() {
  std::array<float, 3> x = {1, -1, 2}, y = {}, expected = {1.5f, 0, 6};
  int failed = run(affine_model_query(), x.data(), y.data(), 1, 3);
  failed += differ(y.data(), expected.data(), 3);
  std::array<float, TWICE_ELEMENTS_INPUT_X> z = {}, w = {}, positive = {};
  z[5] = positive[5] = 7;
  z[6] = -7;
  failed += run(twice_model_query(), z.data(), w.data(), 4, 3);
  failed += differ(w.data(), positive.data(), 12);
  return failed != 0;
}
