/* Two models linked statically. Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "big.h"
#include "relu.h"
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
  if ((call) != KILN_OK) {                                                                         \
    fprintf(stderr, "%s failed\n", #call);                                                         \
    exit(1);                                                                                       \
  }

static void run(const kiln_api *api, float *x, float *y, int64_t rows, int64_t columns) {
  kiln_model *model;
  kiln_session *session;
  int64_t shape[2] = {rows, columns};
  DLTensor in = {.data = x,
                 .device = {kDLCPU, 0},
                 .ndim = 2,
                 .dtype = {kDLFloat, 32, 1},
                 .shape = shape};
  DLTensor out = in;
  const DLTensor *inputs[] = {&in};
  DLTensor *outputs[] = {&out};
  out.data = y;
  CHECK(kiln_model_open(api, NULL, &model));
  CHECK(kiln_session_create(model, NULL, &session));
  CHECK(kiln_run(session, inputs, 1, outputs, 1, NULL));
  CHECK(kiln_session_destroy(session));
  CHECK(kiln_model_close(model));
}

int main(void) {
  float x[RELU_ELEMENTS_INPUT_X] = {-1, 2, -3, 4, -5, 6}, y[RELU_ELEMENTS_OUTPUT_Y];
  run(relu_model_query(), x, y, 2, 3);
  static float big_x[BIG_ELEMENTS_INPUT_X], big_y[BIG_ELEMENTS_OUTPUT_Y];
  big_x[300] = 0.5f;
  run(big_model_query(), big_x, big_y, 512, 512);
  /* The weights are i % 251. */
  return !(y[0] == 0 && y[1] == 2 && y[5] == 6 && big_y[300] == 49.5f && big_y[1000] == 247);
}
