//===- CudaModel.cpp - A model's code and weights on a GPU ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaModel.h"

#include "CudaQueue.h"
#include "drivers/cudasim/KilnSim.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

// The runtime's object keeps this name; an artefact without kernels for a GPU
// does not name it, and all of the driver stays out.
#pragma GCC visibility push(hidden)
extern "C" const kiln::rt::DeviceDriver kiln_cuda_driver;
#pragma GCC visibility pop
constinit const kiln::rt::DeviceDriver kiln_cuda_driver = {kiln::cuda::CudaModel::accepts,
                                                           kiln::cuda::CudaModel::create};

namespace kiln::cuda {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// "" or ":N"; -1 for others.
static int ordinalBehind(const char *text) {
  if (!*text)
    return 0;
  int ordinal = 0;
  if (*text++ != ':' || !*text)
    return -1;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9' || ordinal > 9999)
      return -1;
    ordinal = 10 * ordinal + (*text - '0');
  }
  return ordinal;
}

/// "cuda" or "cuda:N"; -1 for others.
static int ordinalOf(const char *device) {
  return std::strncmp(device, "cuda", 4) == 0 ? ordinalBehind(device + 4) : -1;
}

/// 80 for "sm_80"; 0 for others. What follows the number ("a") is in `suffix`.
static int architectureOf(const char *text, char *suffix = nullptr, const char *prefix = "sm_") {
  if (std::strncmp(text, prefix, std::strlen(prefix)) != 0)
    return 0;
  int number = 0;
  for (text += std::strlen(prefix); *text >= '0' && *text <= '9' && number < 1000; ++text)
    number = 10 * number + (*text - '0');
  if (suffix)
    *suffix = *text;
  return number;
}

namespace {
/// "sim:sm_80" or "sim:sm_90a:N".
struct SimulatedName {
  explicit SimulatedName(const char *device) {
    if (std::strncmp(device, "sim:", 4) != 0)
      return;
    device += 4;
    const char *end = std::strchr(device, ':');
    size_t length = end ? size_t(end - device) : std::strlen(device);
    if (length >= sizeof architecture)
      return;
    std::memcpy(architecture, device, length);
    ordinal = ordinalBehind(device + length);
    isValid = architectureOf(architecture) && ordinal >= 0;
  }
  char architecture[16] = "";
  int ordinal = 0;
  bool isValid = false;
};
} // namespace

bool CudaModel::accepts(const char *device) {
  return !device || ordinalOf(device) >= 0 || SimulatedName(device).isValid;
}

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

kiln_status_t CudaModel::create(const kiln_module_device &module, const char *device,
                                rt::DeviceModel **model, rt::ErrorText &error) {
  auto *made = rt::createObject<CudaModel>(module);
  if (!made)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a model on a device");
  kiln_status_t status = made->setUp(device ? device : "cuda:0", error);
  if (status == KILN_OK)
    *model = made;
  else
    rt::destroyObject(made);
  return status;
}

CudaModel::~CudaModel() {
  if (pool && context().handle && !context().isForked()) {
    const DriverTable &driver = context().driver;
    Context::Use use(context());
    for (LoadedKernel &kernel : kernels)
      if (kernel.module)
        driver.cuModuleUnload(kernel.module);
    if (weights)
      driver.cuMemFree(reinterpret_cast<CUdeviceptr>(weights));
  }
  if (pool)
    pool->drop();
}

/// The simulator of the architecture that is asked for.
static kiln_status_t configureSimulator(const char *library, const char *architecture,
                                        rt::ErrorText &error) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  using Configure = int (*)(const kiln_sim_options *);
  auto configure =
      handle ? reinterpret_cast<Configure>(dlsym(handle, "kilnSimConfigure")) : nullptr;
  if (!configure)
    return error.fail(KILN_UNSUPPORTED, "no simulator: %s",
                      handle ? "it has no kilnSimConfigure" : dlerror());
  kiln_sim_options options = {};
  options.struct_size = sizeof options;
  options.architecture = architecture;
  return configure(&options) == 0
             ? KILN_OK
             : error.fail(KILN_UNSUPPORTED, "the simulator knows no '%s'", architecture);
}

kiln_status_t CudaModel::openContext(const char *device, rt::ErrorText &error) {
  int ordinal = ordinalOf(device);
  isSimulator = ordinal < 0;
  if (!isSimulator) {
    text.append("cuda:%d", ordinal);
    return pool->context.open("libcuda.so.1", ordinal, text.get(), error);
  }
  const char *given = std::getenv("KILN_CUDASIM");
  const char *library = given ? given : "libkiln-cudasim.so";
  SimulatedName name(device);
  text.append("%s", device);
  if (kiln_status_t status = pool->context.open(library, name.ordinal, text.get(), error))
    return status;
  if (pool->context.architecture == architectureOf(name.architecture))
    return KILN_OK;
  // Options of the process name another one; what it asked for goes first.
  pool->context.close();
  if (kiln_status_t status = configureSimulator(library, name.architecture, error))
    return status;
  return pool->context.open(library, name.ordinal, text.get(), error);
}

kiln_status_t CudaModel::setUp(const char *device, rt::ErrorText &error) {
  pool = rt::createObject<DevicePool>();
  if (!pool)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a model on a device");
  if (kiln_status_t status = openContext(device, error))
    return status;
  Context::Use use(context());
  if (kiln_status_t status = loadKernels(error))
    return status;
  return uploadWeights(error);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

const kiln_module_image *CudaModel::imageOf(uint32_t kernel) const {
  const kiln_module_image *best = nullptr;
  int bestScore = 0;
  for (uint32_t i = 0; i != module.num_images; ++i) {
    const kiln_module_image &image = module.images[i];
    if (image.kernel != kernel)
      continue;
    int score = 0;
    if (isSimulator) {
      score = image.kind == KILN_MODULE_IMAGE_SIM;
    } else if (image.kind == KILN_MODULE_IMAGE_PTX) {
      // The driver compiles what is for this device or an older one.
      int number = architectureOf(image.arch, nullptr, "compute_");
      score = number <= context().architecture ? number : 0;
    } else if (image.kind == KILN_MODULE_IMAGE_CUBIN) {
      // Within a major version, newer devices run code for older ones, but not
      // code that is for one device alone.
      char suffix;
      int number = architectureOf(image.arch, &suffix);
      if (number == context().architecture)
        score = suffix ? 2001 : 2000;
      else if (!suffix && number / 10 == context().architecture / 10 &&
               number < context().architecture)
        score = 1000 + number;
    }
    if (score > bestScore) {
      best = &image;
      bestScore = score;
    }
  }
  return best;
}

kiln_status_t CudaModel::loadKernels(rt::ErrorText &error) {
  if (!kernels.allocate(module.num_kernels))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a model on a device");
  const kiln_module_image *chosen = nullptr;
  for (uint32_t i = 0; i != module.num_kernels; ++i) {
    const kiln_module_image *image = imageOf(i);
    if (!image) {
      rt::TextBuilder has;
      for (uint32_t j = 0; j != module.num_images; ++j)
        if (module.images[j].kernel == i)
          has.append("%s%s", *has.get() ? ", " : "", module.images[j].arch);
      return error.fail(KILN_UNSUPPORTED,
                        "the artefact has no code for %s (%s): it has %s; compile with "
                        "--arch=sm_%d",
                        isSimulator ? "the simulator" : context().deviceName, text.get(),
                        *has.get() ? has.get() : "none", context().architecture);
    }
    chosen = image;
    if (kiln_status_t status = loadKernel(i, *image, error))
      return status;
  }
  why.append("%s %s for %s (sm_%d)", chosen ? chosen->arch : "no",
             isSimulator                                       ? "module"
             : chosen && chosen->kind == KILN_MODULE_IMAGE_PTX ? "PTX"
                                                               : "cubin",
             context().deviceName, context().architecture);
  return KILN_OK;
}

kiln_status_t CudaModel::loadKernel(uint32_t index, const kiln_module_image &image,
                                    rt::ErrorText &error) {
  const kiln_module_device_kernel &spec = module.kernels[index];
  LoadedKernel &kernel = kernels[index];
  kernel.image = &image;
  rt::TextBuilder what;
  what.append("loading kernel '%s'", spec.name);
  if (CUresult result = context().driver.cuModuleLoadData(&kernel.module, image.bytes))
    return context().fail(result, what.get(), error);
  if (CUresult result =
          context().driver.cuModuleGetFunction(&kernel.function, kernel.module, spec.name))
    return context().fail(result, what.get(), error);
  // What a block may have without being asked.
  constexpr uint32_t granted = 48 << 10;
  if (image.shared_bytes > granted)
    if (CUresult result = context().driver.cuFuncSetAttribute(
            kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            int(image.shared_bytes)))
      return context().fail(result, what.get(), error);
  int blocks = 0;
  if (CUresult result = context().driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel.function, int(image.threads), image.shared_bytes))
    return context().fail(result, what.get(), error);
  kernel.residentBlocks = uint32_t(std::max(blocks, 1)) * uint32_t(context().multiprocessors);
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

kiln_status_t CudaModel::uploadWeights(rt::ErrorText &error) {
  const kiln_module &plan = *module.plan;
  uint64_t size = plan.weights_size;
  if (!size)
    return KILN_OK;
  const DriverTable &driver = context().driver;
  size_t free = 0, total = 0;
  CUdeviceptr to = 0;
  if (CUresult result = driver.cuMemAlloc(&to, size)) {
    driver.cuMemGetInfo(&free, &total);
    return result == CUDA_ERROR_OUT_OF_MEMORY
               ? error.fail(KILN_OUT_OF_MEMORY,
                            "%s has no room for %llu bytes of weights: %zu of %zu bytes are free",
                            text.get(), static_cast<unsigned long long>(size), free, total)
               : context().fail(result, "memory for weights", error);
  }
  weights = reinterpret_cast<uint8_t *>(to);
  // Two halves of pinned memory: one is filled while the other is copied.
  constexpr uint64_t half = 4 << 20;
  void *pinned = nullptr;
  CUstream stream = nullptr;
  CUevent done[2] = {};
  CUresult result = driver.cuMemHostAlloc(&pinned, 2 * half, 0);
  if (result == CUDA_SUCCESS)
    result = driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  for (CUevent &event : done)
    if (result == CUDA_SUCCESS)
      result = driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  for (uint64_t at = 0, piece = 0; result == CUDA_SUCCESS && at < size; at += half, ++piece) {
    uint64_t bytes = std::min(half, size - at);
    auto *buffer = static_cast<uint8_t *>(pinned) + piece % 2 * half;
    result = driver.cuEventSynchronize(done[piece % 2]);
    if (result != CUDA_SUCCESS)
      break;
    std::memcpy(buffer, plan.weights + at, bytes);
    result = driver.cuMemcpyHtoDAsync(to + at, buffer, bytes, stream);
    if (result == CUDA_SUCCESS)
      result = driver.cuEventRecord(done[piece % 2], stream);
  }
  if (result == CUDA_SUCCESS)
    result = driver.cuStreamSynchronize(stream);
  for (CUevent event : done)
    if (event)
      driver.cuEventDestroy(event);
  if (stream)
    driver.cuStreamDestroy(stream);
  if (pinned)
    driver.cuMemFreeHost(pinned);
  return result == CUDA_SUCCESS ? KILN_OK : context().fail(result, "copying weights", error);
}

kiln_status_t CudaModel::open(void *stream, rt::DeviceQueue **queue, rt::ErrorText &error) {
  auto *made = rt::createObject<CudaQueue>(*this);
  if (!made)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a session");
  kiln_status_t status = made->setUp(stream, error);
  if (status == KILN_OK)
    *queue = made;
  else
    made->destroy();
  return status;
}

} // namespace kiln::cuda
