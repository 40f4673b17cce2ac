//===- DriverModule.cpp - Modules and launches of the simulated driver ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <algorithm>
#include <cstring>

namespace kiln::cuda {
const kiln::cudasim::ModuleKernel &CUfunc_st::description() const {
  return module->loaded.first().kernels[kernel];
}
} // namespace kiln::cuda

namespace kiln::cudasim {
namespace {

constexpr size_t kDefaultSharedLimit = 48 << 10;

size_t staticShared(const CUfunc_st &function) {
  const Module &m = function.module->loaded.first();
  return m.sharedEnd - m.shared;
}

/// Parameters as one buffer holds them: each at a multiple of its alignment, for
/// which its size speaks as far as it can.
CUresult readParameters(const ModuleKernel &kernel, void **pointers, void **extra, Launch &launch) {
  const unsigned char *buffer = nullptr;
  size_t bufferBytes = 0;
  if (!pointers && extra) {
    for (void **x = extra; *x != CU_LAUNCH_PARAM_END; x += 2)
      if (*x == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = static_cast<const unsigned char *>(x[1]);
      else if (*x == CU_LAUNCH_PARAM_BUFFER_SIZE)
        bufferBytes = *static_cast<size_t *>(x[1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
  }
  if (kernel.parameterCount && !pointers && !buffer)
    return CUDA_ERROR_INVALID_VALUE;
  constexpr size_t kMostParameterBytes = 4096, kMostParameters = 64;
  size_t at = 0;
  if (kernel.parameterCount > kMostParameters)
    return CUDA_ERROR_INVALID_VALUE;
  for (uint32_t i = 0; i < kernel.parameterCount; ++i) {
    const size_t bytes = kernel.parameterBytes[i];
    size_t align = 1;
    while (align < 16 && bytes % (align * 2) == 0)
      align *= 2;
    at = (at + align - 1) / align * align;
    if (at + bytes > kMostParameterBytes || (buffer && at + bytes > bufferBytes) ||
        (!buffer && !pointers[i]))
      return CUDA_ERROR_INVALID_VALUE;
    launch.parameters.resize(at + bytes);
    launch.parameterAt.push_back(at);
    memcpy(launch.parameters.data() + at, buffer ? buffer + at : pointers[i], bytes);
    at += bytes;
  }
  return CUDA_SUCCESS;
}

} // namespace

CUresult makeLaunch(DriverState &d, const CUDA_KERNEL_NODE_PARAMS &p, Operation &operation) {
  if (!d.functions.count(p.func))
    return CUDA_ERROR_INVALID_HANDLE;
  const CUfunc_st &f = *p.func;
  const kiln_sim_device &device = simulator().device;
  const unsigned grid[3] = {p.gridDimX, p.gridDimY, p.gridDimZ};
  const unsigned block[3] = {p.blockDimX, p.blockDimY, p.blockDimZ};
  constexpr unsigned kMostGrid[3] = {2147483647, 65535, 65535}, kMostBlock[3] = {1024, 1024, 64};
  for (unsigned i = 0; i < 3; ++i)
    if (!grid[i] || !block[i] || grid[i] > kMostGrid[i] || block[i] > kMostBlock[i])
      return CUDA_ERROR_INVALID_VALUE;
  if (uint64_t(block[0]) * block[1] * block[2] > kMaxThreads ||
      p.sharedMemBytes >
          std::max(f.dynamicLimit,
                   kDefaultSharedLimit - std::min(kDefaultSharedLimit, staticShared(f))) ||
      p.sharedMemBytes + staticShared(f) > device.shared_per_block_optin)
    return CUDA_ERROR_INVALID_VALUE;
  operation.kind = OperationKind::Kernel;
  operation.function = p.func;
  Launch &launch = operation.launch;
  launch = {};
  launch.module = &f.module->loaded;
  launch.kernel = f.kernel;
  launch.name = f.name.c_str();
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  launch.dynamicShared = p.sharedMemBytes;
  return readParameters(f.description(), p.kernelParams, p.extra, launch);
}

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!module || !image)
      return CUDA_ERROR_INVALID_VALUE;
    if (breaksCapture(d))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const size_t size = imageSize(image);
    if (!size) // A cubin, PTX, or nothing that is known.
      return memcmp(image,
                    "\x7f"
                    "ELF",
                    4) == 0
                 ? CUDA_ERROR_NO_BINARY_FOR_GPU
                 : CUDA_ERROR_INVALID_IMAGE;
    auto made = std::make_unique<CUmod_st>();
    made->context = &context;
    made->loaded.image.assign(static_cast<const unsigned char *>(image),
                              static_cast<const unsigned char *>(image) + size);
    if (loadCopy(made->loaded))
      return CUDA_ERROR_INVALID_IMAGE;
    const Module &m = made->loaded.first();
    for (const ModuleKernel *k = m.kernels; k != m.kernelsEnd; ++k) {
      auto f = std::make_unique<CUfunc_st>();
      f->module = made.get();
      f->kernel = k - m.kernels;
      f->name = k->name;
      d.functions.insert(f.get());
      made->functions.push_back(std::move(f));
    }
    *module = made.get();
    d.modules[made.get()] = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    auto it = d.modules.find(module);
    if (it == d.modules.end())
      return CUDA_ERROR_INVALID_HANDLE;
    drainContext(d, context);
    for (auto &f : module->functions)
      d.functions.erase(f.get());
    simulator().report.forgetPlaces(module->loaded);
    unloadCopies(module->loaded);
    d.modules.erase(it);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!function || !name)
      return CUDA_ERROR_INVALID_VALUE;
    if (!d.modules.count(module))
      return CUDA_ERROR_INVALID_HANDLE;
    for (auto &f : module->functions)
      if (f->name == name) {
        *function = f.get();
        return CUDA_SUCCESS;
      }
    return CUDA_ERROR_NOT_FOUND;
  });
}

/// Registers and spills are known to ptxas only: 0.
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    if (!d.functions.count(function))
      return CUDA_ERROR_INVALID_HANDLE;
    const kiln_sim_device &device = simulator().device;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = kMaxThreads;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: // Of the whole module.
      *value = int(staticShared(*function));
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = int(function->dynamicLimit);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = int(device.major * 10 + device.minor);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = 0;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!d.functions.count(function))
      return CUDA_ERROR_INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value + staticShared(*function) > simulator().device.shared_per_block_optin)
        return CUDA_ERROR_INVALID_VALUE;
      function->dynamicLimit = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

/// By threads, blocks and shared memory; registers are not known.
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t dynamicShared) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!blocks || threads <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (!d.functions.count(function))
      return CUDA_ERROR_INVALID_HANDLE;
    const kiln_sim_device &device = simulator().device;
    const size_t shared = dynamicShared + staticShared(*function);
    if (shared > device.shared_per_block_optin || unsigned(threads) > kMaxThreads) {
      *blocks = 0;
      return CUDA_SUCCESS;
    }
    const unsigned warps = (threads + 31) / 32;
    size_t n = std::min<size_t>(device.blocks_per_multiprocessor,
                                device.threads_per_multiprocessor / 32 / warps);
    if (const size_t each = shared + device.shared_reserved_per_block)
      n = std::min(n, device.shared_per_multiprocessor / each);
    *blocks = int(n);
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned blockY, unsigned blockZ, unsigned dynamicShared,
                        CUstream handle, void **parameters, void **extra) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    Operation operation;
    if (CUresult failed = makeLaunch(d,
                                     {function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                                      dynamicShared, parameters, extra, nullptr, nullptr},
                                     operation))
      return failed;
    if (function->module->context != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    Simulator &s = simulator();
    if (++s.launchCalls == s.options.fail_launch)
      return CUDA_ERROR_LAUNCH_FAILED;
    return submit(d, *stream, std::move(operation));
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!function)
      return CUDA_ERROR_INVALID_VALUE;
    Operation operation;
    operation.kind = OperationKind::Host;
    operation.host = function;
    operation.hostData = data;
    return submit(d, *stream, std::move(operation));
  });
}
}

} // namespace kiln::cudasim
