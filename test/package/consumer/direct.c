/* Two models, linked as libraries, in one C11 program. Part of Kiln, under the Apache License v2.0
 * with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "affine.h"
#include "run.h"
#include "twice.h"

_Static_assert(TWICE_ELEMENTS_INPUT_X == 12, "--dim made the rows static");
_Static_assert(AFFINE_DIM1_INPUT_X == 3 && AFFINE_NUM_OUTPUTS == 1, "what the header says");

int main(void) {
  /* y = relu(x * [1, 2, 3] + [0.5, -0.5, 0]) */
  AFFINE_TYPE_INPUT_X x[6] = {1, 2, 3, -1, -2, -3};
  float y[6], expected[6] = {1.5f, 3.5f, 9, 0, 0, 0};
  int failed = run(affine_model_query(), x, y, 2, 3) + differ(y, expected, 6);
  /* The same artefact with another number of rows. */
  failed += run(affine_model_query(), x, y, 1, 3) + differ(y, expected, 3);

  float z[TWICE_ELEMENTS_INPUT_X], w[TWICE_ELEMENTS_OUTPUT_Y], positive[12];
  for (int i = 0; i < 12; ++i) {
    z[i] = (float)(i - 6);
    positive[i] = z[i] > 0 ? z[i] : 0;
  }
  failed += run(twice_model_query(), z, w, 4, 3) + differ(w, positive, 12);
  return failed != 0;
}
