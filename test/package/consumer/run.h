/* Runs a model with one input and one output of float32. Part of Kiln, under the Apache License
 * v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef RUN_H
#define RUN_H

#include <kiln-c/Runtime.h>
#include <stdio.h>

static inline DLTensor matrix(float *data, int64_t *shape) {
  DLTensor tensor;
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.device.device_id = 0;
  tensor.ndim = 2;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  return tensor;
}

/* The number of failed calls. */
static inline int run(const kiln_api *api, float *x, float *y, int64_t rows, int64_t columns) {
  kiln_model *model = NULL;
  kiln_session *session = NULL;
  int64_t x_shape[2], y_shape[2];
  x_shape[0] = y_shape[0] = rows;
  x_shape[1] = y_shape[1] = columns;
  DLTensor input = matrix(x, x_shape), output = matrix(y, y_shape);
  const DLTensor *inputs[] = {&input};
  DLTensor *outputs[] = {&output};
  int failed = 0;
  failed += kiln_model_open(api, NULL, &model) != KILN_OK;
  failed += kiln_session_create(model, NULL, &session) != KILN_OK;
  if (kiln_run(session, inputs, 1, outputs, 1, NULL) != KILN_OK) {
    fprintf(stderr, "%s\n", kiln_session_error(session));
    ++failed;
  }
  failed += kiln_session_destroy(session) != KILN_OK;
  failed += kiln_model_close(model) != KILN_OK;
  return failed;
}

static inline int differ(const float *found, const float *expected, int count) {
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    if (found[i] != expected[i]) {
      fprintf(stderr, "element %d is %g, not %g\n", i, (double)found[i], (double)expected[i]);
      ++wrong;
    }
  return wrong;
}

#endif
