/*===- TestModel.c - A module table as kilnc would write it ---------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* x[n, 8], bias[4] (optional)                                                *|
|*   y[n, 4] = relu(x * W + bias)                                             *|
|*   z[2*n, 4]: y, and below it 2*y + 1                                       *|
|*   positive[count]: flat indices of the positive elements of y (late)       *|
|*                                                                            *|
|* W[i][j] = (i + 1) * 0.125 - j * 0.5, the default bias is {0, 1, -1, 0.5}.  *|
|* n lies in 1..64 and must not be 13. Macros make faulty variants.           *|
\*===----------------------------------------------------------------------===*/
#include "kiln-c/ModuleABI.h"

#include "kiln-c/ArtefactNote.h"

#define TEST_MANIFEST "{\"format\":\"kiln-manifest 1.0\"}"

#ifndef TEST_ABI_MAJOR
#define TEST_ABI_MAJOR KILN_MODULE_ABI_MAJOR
#endif
#ifndef TEST_FEATURES
#define TEST_FEATURES ""
#endif
#ifndef TEST_NAME
#define TEST_NAME "test"
#endif

#define HIDDEN __attribute__((visibility("hidden")))

enum { COLUMNS = 8, UNITS = 4, NUM_WEIGHTS = 48 };

/* W row by row, then, from byte 128 on, the bias. */
#define ROW(i) (i) * 0.125f, (i) * 0.125f - 0.5f, (i) * 0.125f - 1.0f, (i) * 0.125f - 1.5f
__attribute__((section(".kiln.weights"), aligned(64))) static const float weights[NUM_WEIGHTS] = {
    ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7), ROW(8), 0.0f, 1.0f, -1.0f, 0.5f};

static const kiln_module_dim xDims[] = {{-1, 0, 0, "n"}, {COLUMNS, -1, 0, "8"}};
static const kiln_module_dim biasDims[] = {{UNITS, -1, 0, "4"}};
static const kiln_module_dim yDims[] = {{-1, 0, 0, "n"}, {UNITS, -1, 0, "4"}};
static const kiln_module_dim zDims[] = {{-1, 1, 0, "2*n"}, {UNITS, -1, 0, "4"}};
static const kiln_module_dim positiveDims[] = {{-1, 2, 0, "count"}};

static const kiln_module_tensor inputs[] = {
    {"x", {2, 32, 1}, 2, xDims, 0, 0, 0},
    {"bias", {2, 32, 1}, 1, biasDims, KILN_MODULE_TENSOR_OPTIONAL, 0, 128},
};
static const kiln_module_tensor outputs[] = {
    {"y", {2, 32, 1}, 2, yDims, 0, 0, 0},
    {"z", {2, 32, 1}, 2, zDims, 0, 0, 0},
    {"positive", {0, 64, 1}, 1, positiveDims, KILN_MODULE_TENSOR_LATE, 0, 0},
};
static const kiln_module_symbol symbols[] = {{"n", 1, 64}, {"2*n", 2, 128}, {"count", 0, 256}};
/* Launches are some of the steps. */
static const kiln_module_buffer buffers[] = {{1, 5}, {3, 8}};
static const uint32_t launchSteps[] = {2, 5, 8}, bufferWriters[] = {0, 1};
static const kiln_module_launch launches[] = {
    {"matmul", "MatMul_0,Add_1"}, {"relu", "Relu_2"}, {"affine", "Mul_3,Add_4,Concat_5"}};
#ifndef TEST_WEIGHTS_CRC
#define TEST_WEIGHTS_CRC 0x73766a0eu
#endif
static const kiln_module_weight weightTable[] = {
    {"W", 0, 128, TEST_WEIGHTS_CRC, 0},
    {"bias", 128, 16, 0x3da1bf6cu, 0},
};
static const char *const constraints[] = {"n must not be 13"};

static int32_t bindSymbols(int64_t *values, const void *const *data, kiln_module_fault *fault) {
  (void)data;
  if (values[0] == 13) {
    fault->constraint = 0;
    fault->left = values[0];
    fault->right = 13;
    return KILN_MODULE_CONSTRAINT;
  }
  values[1] = 2 * values[0];
  return KILN_MODULE_OK;
}

static void computeSizes(const int64_t *values, uint64_t *sizes) {
  sizes[0] = sizes[1] = (uint64_t)values[0] * UNITS * sizeof(float);
  sizes[2] = UNITS * sizeof(float);
}

static void computeDims(const int64_t *values, int64_t *dims) {
  dims[0] = values[0];
  dims[1] = UNITS;
  dims[2] = values[1];
  dims[3] = UNITS;
  dims[4] = -1;
}

typedef struct MatmulArgs {
  const float *x;
  const float *bias;
  const float *w;
  float *sums;
} MatmulArgs;

static void matmul(const void *opaque, int64_t begin, int64_t end, void *scratch) {
  const MatmulArgs *args = opaque;
  float *row = scratch;
  for (int64_t n = begin; n != end; ++n) {
    for (int j = 0; j != UNITS; ++j)
      row[j] = args->bias[j];
    for (int i = 0; i != COLUMNS; ++i)
      for (int j = 0; j != UNITS; ++j)
        row[j] += args->x[n * COLUMNS + i] * args->w[i * UNITS + j];
    for (int j = 0; j != UNITS; ++j)
      args->sums[n * UNITS + j] = row[j];
  }
}

typedef struct MapArgs {
  const float *from;
  float *to;
  float *also;
} MapArgs;

static void relu(const void *opaque, int64_t begin, int64_t end, void *scratch) {
  const MapArgs *args = opaque;
  (void)scratch;
  for (int64_t i = begin; i != end; ++i)
    args->to[i] = args->also[i] = args->from[i] > 0 ? args->from[i] : 0;
}

static void affine(const void *opaque, int64_t begin, int64_t end, void *scratch) {
  const MapArgs *args = opaque;
  (void)scratch;
  for (int64_t i = begin; i != end; ++i) {
    args->to[i] = args->from[i];
    args->also[i] = 2 * args->from[i] + 1;
  }
}

static uint32_t chunksOf(int64_t extent) {
  return extent < KILN_MODULE_MAX_CHUNKS ? (uint32_t)extent : KILN_MODULE_MAX_CHUNKS;
}

/* All but the late output. */
static void runDense(kiln_module_frame *frame) {
  int64_t n = frame->symbols[0], elements = n * UNITS;
  float *sums = (float *)(void *)(frame->arena + frame->offsets[0]);
  float *kept = (float *)(void *)(frame->arena + frame->offsets[1]);
  float *y = frame->outputs[0], *z = frame->outputs[1];
  const float *w = (const float *)(const void *)frame->weights;
  const MatmulArgs matmulArgs = {frame->inputs[0], frame->inputs[1], w, sums};
  frame->services->launch(frame, 0, matmul, &matmulArgs, n, chunksOf(n));
  const MapArgs reluArgs = {sums, y, kept};
  frame->services->launch(frame, 1, relu, &reluArgs, elements, chunksOf(elements));
  const MapArgs affineArgs = {kept, z, z + elements};
  frame->services->launch(frame, 2, affine, &affineArgs, elements, 1);
}

static int32_t run(kiln_module_frame *frame) {
  runDense(frame);
  int64_t elements = frame->symbols[0] * UNITS;
  const float *kept = (const float *)(const void *)(frame->arena + frame->offsets[1]);
  int64_t *found = frame->services->allocate(frame, (uint64_t)elements * sizeof(int64_t));
  if (!found)
    return KILN_MODULE_OUT_OF_MEMORY;
  int64_t count = 0;
  for (int64_t i = 0; i != elements; ++i)
    if (kept[i] > 0)
      found[count++] = i;
  frame->symbols[2] = count;
  int64_t *positive = frame->services->late_output(frame, 2, &count);
  if (!positive)
    return KILN_MODULE_OUT_OF_MEMORY;
  for (int64_t i = 0; i != count; ++i)
    positive[i] = found[i];
#ifndef TEST_KEEPS_MEMORY
  frame->services->release(frame, found);
#endif
  return KILN_MODULE_OK;
}

#ifdef TEST_DEVICE
static const kiln_module_device device; /* DeviceModel.c */
#endif

HIDDEN extern const kiln_module kiln_generated_module;
const kiln_module kiln_generated_module = {
    .magic = KILN_MODULE_MAGIC,
    .abi_major = TEST_ABI_MAJOR,
    .abi_minor = KILN_MODULE_ABI_MINOR,
    .struct_size = sizeof(kiln_module),
    .num_inputs = 2,
    .num_outputs = 3,
    .num_symbols = 3,
    .num_input_symbols = 1,
    .num_bound_symbols = 2,
    .num_buffers = 2,
    .num_launches = 3,
    .num_weights = 2,
    .num_constraints = 1,
    .name = TEST_NAME,
    .producer = "kiln test",
    .target = "cpu test",
    .features = TEST_FEATURES,
    .batch_symbol = "n",
    .digest = {1, 2, 3},
    .inputs = inputs,
    .outputs = outputs,
    .symbols = symbols,
    .buffers = buffers,
    .launches = launches,
    .weight_table = weightTable,
    .constraints = constraints,
    .weights = (const uint8_t *)weights,
    .weights_size = sizeof weights,
    .bind = bindSymbols,
    .sizes = computeSizes,
    .output_dims = computeDims,
    .run = run,
    .reads_inputs = 0,
    .launch_steps = launchSteps,
    .buffer_writers = bufferWriters,
#ifdef TEST_DEVICE
    .device = &device,
#endif
#ifdef TEST_NOTE
    .manifest = TEST_MANIFEST,
    .manifest_size = sizeof TEST_MANIFEST - 1,
#endif
};

#ifdef TEST_NOTE
/* Filled by the test, as kilnc would after the link. */
struct Note {
  uint32_t nameSize, size, type;
  char name[8];
  kiln_artefact_note note;
};
__attribute__((section(".note.kiln"), used, aligned(4))) static const struct Note note = {
    5,
    sizeof(kiln_artefact_note),
    KILN_NOTE_TYPE,
    KILN_NOTE_OWNER,
    {KILN_NOTE_MAJOR, 0, 0, 0, 0, 0, 0}};
#endif
