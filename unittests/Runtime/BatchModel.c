/*===- BatchModel.c - A module table with a batch -------------------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* x[n, k], bias[1] (optional, shared; 1 by default)                          *|
|*   y[n, k] = 2 * x + bias                                                   *|
|*   t[k, n]: y transposed, so its rows do not lie together                   *|
|*   ends[2*n]: the first and the last of each row of y                       *|
|*   shared[1]: bias                                                          *|
|*                                                                            *|
|* n lies in 1..64 and k in 1..512. A run with n = 13, or with an element of  *|
|* 666, fails. A run takes at least test_fixed_ns + n * test_row_ns.          *|
\*===----------------------------------------------------------------------===*/
#define _POSIX_C_SOURCE 199309L
#include "BatchModel.h"

#include "kiln-c/ModuleABI.h"

#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN _Atomic uint64_t test_fixed_ns, test_row_ns, test_runs;

__attribute__((section(".kiln.weights"), aligned(64))) static const float weights[16] = {1.0f};

static const kiln_module_dim xDims[] = {{-1, 0, 0, "n"}, {-1, 1, 0, "k"}};
static const kiln_module_dim oneDims[] = {{1, -1, 0, "1"}};
static const kiln_module_dim tDims[] = {{-1, 1, 0, "k"}, {-1, 0, 0, "n"}};
static const kiln_module_dim endsDims[] = {{-1, 2, 0, "2*n"}};

static const kiln_module_tensor inputs[] = {
    {"x", {2, 32, 1}, 2, xDims, 0, 0, 0},
    {"bias", {2, 32, 1}, 1, oneDims, KILN_MODULE_TENSOR_OPTIONAL, 0, 0},
};
static const kiln_module_tensor outputs[] = {
    {"y", {2, 32, 1}, 2, xDims, 0, 0, 0},
    {"t", {2, 32, 1}, 2, tDims, 0, 0, 0},
    {"ends", {2, 32, 1}, 1, endsDims, 0, 0, 0},
    {"shared", {2, 32, 1}, 1, oneDims, 0, 0, 0},
};
static const int32_t axes[] = {0, -1, 0, 1, 0, -1};
static const kiln_module_symbol symbols[] = {{"n", 1, 64}, {"k", 1, 512}, {"2*n", 2, 128}};
static const kiln_module_weight weightTable[] = {{"bias", 0, 4, 0xdd54c4abu, 0}};
static const char *const constraints[] = {"n must not be 13", "no element may be 666"};

static int32_t fail(kiln_module_fault *fault, uint32_t constraint) {
  fault->constraint = constraint;
  return KILN_MODULE_CONSTRAINT;
}

static int32_t bindSymbols(int64_t *values, const void *const *data, kiln_module_fault *fault) {
  (void)data;
  values[2] = 2 * values[0];
  return values[0] == 13 ? fail(fault, 0) : KILN_MODULE_OK;
}

static void computeSizes(const int64_t *values, uint64_t *sizes) {
  (void)values;
  sizes[0] = 0;
}

static void computeDims(const int64_t *values, int64_t *dims) {
  dims[0] = values[0];
  dims[1] = values[1];
  dims[2] = values[1];
  dims[3] = values[0];
  dims[4] = values[2];
  dims[5] = 1;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int32_t run(kiln_module_frame *frame) {
  int64_t n = frame->symbols[0], k = frame->symbols[1];
  uint64_t end = test_fixed_ns + (uint64_t)n * test_row_ns;
  if (end)
    end += now();
  const float *x = frame->inputs[0], *bias = frame->inputs[1];
  float *y = frame->outputs[0], *t = frame->outputs[1], *ends = frame->outputs[2],
        *shared = frame->outputs[3];
  ++test_runs;
  for (int64_t i = 0; i != n; ++i)
    for (int64_t j = 0; j != k; ++j) {
      if (x[i * k + j] == 666)
        return fail(&frame->fault, 1);
      t[j * n + i] = y[i * k + j] = 2 * x[i * k + j] + bias[0];
    }
  for (int64_t i = 0; i != n; ++i) {
    ends[2 * i] = y[i * k];
    ends[2 * i + 1] = y[i * k + k - 1];
  }
  shared[0] = bias[0];
  while (end && now() < end) {
  }
  return KILN_MODULE_OK;
}

HIDDEN extern const kiln_module kiln_generated_module;
const kiln_module kiln_generated_module = {
    .magic = KILN_MODULE_MAGIC,
    .abi_major = KILN_MODULE_ABI_MAJOR,
    .abi_minor = KILN_MODULE_ABI_MINOR,
    .struct_size = sizeof(kiln_module),
    .num_inputs = 2,
    .num_outputs = 4,
    .num_symbols = 3,
    .num_input_symbols = 2,
    .num_bound_symbols = 3,
    .num_weights = 1,
    .num_constraints = 2,
    .name = "batch",
    .producer = "kiln test",
    .target = "cpu test",
    .features = "",
    .batch_symbol = "n",
    .inputs = inputs,
    .outputs = outputs,
    .symbols = symbols,
    .weight_table = weightTable,
    .constraints = constraints,
    .weights = (const uint8_t *)weights,
    .weights_size = sizeof weights,
    .bind = bindSymbols,
    .sizes = computeSizes,
    .output_dims = computeDims,
    .run = run,
    .batch_axes = axes,
};
