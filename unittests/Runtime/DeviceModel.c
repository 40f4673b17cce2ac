/*===- DeviceModel.c - TestModel with a plan for a device -----------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* kiln_generated_module is TestModel. kiln_test_dense is the same without    *|
|* the late output, so that its runs are launches alone; kiln_test_foreign    *|
|* has code for an architecture that no simulated device here is.             *|
\*===----------------------------------------------------------------------===*/
#define TEST_DEVICE
#include "TestModel.c"

HIDDEN extern const kiln_module kiln_test_dense, kiln_test_foreign;
HIDDEN extern const char kiln_cuda_driver;

/* The simulator takes the same file for a module and for a cubin. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".hidden kiln_test_image\n.globl kiln_test_image\nkiln_test_image:\n"
        ".incbin \"" TEST_IMAGE "\"\n"
        ".hidden kiln_test_image_end\n.globl kiln_test_image_end\nkiln_test_image_end:\n"
        ".popsection\n");
HIDDEN extern const char kiln_test_image[], kiln_test_image_end[];

enum { MATMUL, RELU, AFFINE, FIND, COPY, KERNELS };
static const kiln_module_device_kernel deviceKernels[KERNELS] = {
    {"deviceMatmul", 4, 0}, {"deviceRelu", 3, 0}, {"deviceAffine", 3, 0},
    {"deviceFind", 3, 0},   {"deviceCopy", 2, 0},
};

/* The size is read from the file's own headers. */
#define IMAGE(arch, kind, kernel, threads, units)                                                  \
  {arch, kiln_test_image, 0, kind, kernel, threads, units, 0, 0, 0, 0}
#define IMAGES(arch, kind)                                                                         \
  IMAGE(arch, kind, MATMUL, 64, 64), IMAGE(arch, kind, RELU, 64, 64),                              \
      IMAGE(arch, kind, AFFINE, 64, 64), IMAGE(arch, kind, FIND, 32, 1),                           \
      IMAGE(arch, kind, COPY, 64, 64)
static const kiln_module_image images[] = {IMAGES("sim", KILN_MODULE_IMAGE_SIM),
                                           IMAGES("sm_80", KILN_MODULE_IMAGE_CUBIN)};
static const kiln_module_image foreignImages[] = {IMAGES("sm_90a", KILN_MODULE_IMAGE_CUBIN)};

static uint64_t at(const void *memory) { return (uint64_t)(uintptr_t)memory; }

static void deviceDense(kiln_module_frame *frame) {
  int64_t elements = frame->symbols[0] * UNITS;
  uint64_t sums = at(frame->arena + frame->offsets[0]), kept = at(frame->arena + frame->offsets[1]);
  uint64_t z = at(frame->outputs[1]);
  const uint64_t matmulArgs[] = {at(frame->inputs[0]), at(frame->inputs[1]), at(frame->weights),
                                 sums, 0};
  frame->services->launch(frame, 0, NULL, matmulArgs, elements, MATMUL);
  const uint64_t reluArgs[] = {sums, at(frame->outputs[0]), kept, 0};
  frame->services->launch(frame, 1, NULL, reluArgs, elements, RELU);
  const uint64_t affineArgs[] = {kept, z, z + (uint64_t)elements * sizeof(float), 0};
  frame->services->launch(frame, 2, NULL, affineArgs, elements, AFFINE);
}

static int32_t runDeviceDense(kiln_module_frame *frame) {
  deviceDense(frame);
  return KILN_MODULE_OK;
}

static int32_t runDevice(kiln_module_frame *frame) {
  deviceDense(frame);
  int64_t elements = frame->symbols[0] * UNITS;
  char *found = frame->services->allocate(frame, (uint64_t)(elements + 1) * sizeof(int64_t));
  if (!found)
    return KILN_MODULE_OUT_OF_MEMORY;
  const uint64_t findArgs[] = {at(frame->arena + frame->offsets[1]), at(found), (uint64_t)elements,
                               0};
  frame->services->launch(frame, 2, NULL, findArgs, 1, FIND);
  const int64_t *count = frame->services->fetch(frame, found, sizeof *count);
  if (!count)
    return KILN_MODULE_OUT_OF_MEMORY;
  int64_t size = frame->symbols[2] = *count;
  void *positive = frame->services->late_output(frame, 2, &size);
  if (!positive)
    return KILN_MODULE_OUT_OF_MEMORY;
  const uint64_t copyArgs[] = {at(found + sizeof(int64_t)), at(positive), 0};
  frame->services->launch(frame, 2, NULL, copyArgs, size, COPY);
  frame->services->release(frame, found);
  return KILN_MODULE_OK;
}

static int32_t runHostDense(kiln_module_frame *frame) {
  runDense(frame);
  return KILN_MODULE_OK;
}

#define MODULE(outputCount, runFunction, deviceTable)                                              \
  {.magic = KILN_MODULE_MAGIC,                                                                     \
   .abi_major = KILN_MODULE_ABI_MAJOR,                                                             \
   .abi_minor = KILN_MODULE_ABI_MINOR,                                                             \
   .struct_size = sizeof(kiln_module),                                                             \
   .num_inputs = 2,                                                                                \
   .num_outputs = outputCount,                                                                     \
   .num_symbols = 3,                                                                               \
   .num_input_symbols = 1,                                                                         \
   .num_bound_symbols = 2,                                                                         \
   .num_buffers = 2,                                                                               \
   .num_launches = 3,                                                                              \
   .num_weights = 2,                                                                               \
   .num_constraints = 1,                                                                           \
   .name = "test",                                                                                 \
   .producer = "kiln test",                                                                        \
   .target = "test",                                                                               \
   .features = "",                                                                                 \
   .inputs = inputs,                                                                               \
   .outputs = outputs,                                                                             \
   .symbols = symbols,                                                                             \
   .buffers = buffers,                                                                             \
   .launches = launches,                                                                           \
   .weight_table = weightTable,                                                                    \
   .constraints = constraints,                                                                     \
   .weights = (const uint8_t *)weights,                                                            \
   .weights_size = sizeof weights,                                                                 \
   .bind = bindSymbols,                                                                            \
   .sizes = computeSizes,                                                                          \
   .output_dims = computeDims,                                                                     \
   .run = runFunction,                                                                             \
   .launch_steps = launchSteps,                                                                    \
   .buffer_writers = bufferWriters,                                                                \
   .device = deviceTable}

#define DEVICE(devicePlan, deviceImages)                                                           \
  {.plan = devicePlan,                                                                             \
   .kernels = deviceKernels,                                                                       \
   .images = deviceImages,                                                                         \
   .num_kernels = KERNELS,                                                                         \
   .num_images = sizeof deviceImages / sizeof *deviceImages,                                       \
   .driver = &kiln_cuda_driver}

static const kiln_module devicePlan = MODULE(3, runDevice, NULL);
static const kiln_module densePlan = MODULE(2, runDeviceDense, NULL);
static const kiln_module_device device = DEVICE(&devicePlan, images);
static const kiln_module_device denseDevice = DEVICE(&densePlan, images);
static const kiln_module_device foreignDevice = DEVICE(&densePlan, foreignImages);
const kiln_module kiln_test_dense = MODULE(2, runHostDense, &denseDevice);
const kiln_module kiln_test_foreign = MODULE(2, runHostDense, &foreignDevice);
