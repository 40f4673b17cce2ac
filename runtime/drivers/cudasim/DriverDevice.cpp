//===- DriverDevice.cpp - Devices and contexts of the simulated driver ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kiln::cudasim {

thread_local ContextStack contextStack;

DriverState &driver() {
  static DriverState *one = new DriverState; // Never destroyed, as the simulator.
  return *one;
}

CUcontext currentContext() {
  return contextStack.count ? contextStack.entries[contextStack.count - 1] : nullptr;
}

namespace {

CUcontext makeContext(DriverState &d, int device) {
  auto context = std::make_unique<CUctx_st>();
  context->device = device;
  CUcontext handle = context.get();
  d.contexts[handle] = std::move(context);
  auto stream = std::make_unique<CUstream_st>();
  stream->id = ++d.streamIds;
  stream->context = handle;
  CUstream streamHandle = stream.get();
  d.streamById[stream->id] = streamHandle;
  d.defaultStreams[handle] = streamHandle;
  d.streams[streamHandle] = std::move(stream);
  return handle;
}

bool isDevice(CUdevice device) {
  return device >= 0 && uint64_t(device) < simulator().options.device_count;
}

} // namespace

void destroyContext(DriverState &d, CUcontext context) {
  if (context->lost == CUDA_SUCCESS)
    drainContext(d, *context);
  std::vector<CUdeviceptr> owned;
  for (const auto &[pointer, owner] : d.allocations)
    if (owner == context)
      owned.push_back(pointer);
  for (CUdeviceptr pointer : owned)
    freeMemory(d, pointer);
  auto eraseOwned = [&](auto &table, auto forget) {
    for (auto it = table.begin(); it != table.end();)
      if (it->second->context == context) {
        forget(*it->second);
        it = table.erase(it);
      } else {
        ++it;
      }
  };
  eraseOwned(d.streams, [&](CUstream_st &s) { d.streamById.erase(s.id); });
  eraseOwned(d.events, [](CUevent_st &) {});
  eraseOwned(d.instances, [](CUgraphExec_st &) {});
  eraseOwned(d.modules, [&](CUmod_st &m) {
    for (auto &f : m.functions)
      d.functions.erase(f.get());
    simulator().report.forgetPlaces(m.loaded);
    unloadCopies(m.loaded);
  });
  d.defaultStreams.erase(context);
  d.contexts.erase(context);
}

extern "C" {

CUresult cuInit(unsigned flags) {
  DriverState &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (!simulator().options.device_count || !__builtin_cpu_supports("avx2") ||
      !__builtin_cpu_supports("fma"))
    return CUDA_ERROR_NO_DEVICE;
  if (!simulator().prepare())
    return CUDA_ERROR_OUT_OF_MEMORY;
  d.initialised = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
#define KILN_CUDA_ERROR(identifier, value, text)                                                   \
  case identifier:                                                                                 \
    *name = #identifier;                                                                           \
    return CUDA_SUCCESS;
#include "../cuda/DriverErrors.def"
  }
  *name = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
#define KILN_CUDA_ERROR(identifier, value, words)                                                  \
  case identifier:                                                                                 \
    *text = words;                                                                                 \
    return CUDA_SUCCESS;
#include "../cuda/DriverErrors.def"
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return enterDriver([&](DriverState &) {
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(ordinal))
      return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetCount(int *count) {
  return enterDriver([&](DriverState &) {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = int(simulator().options.device_count);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  return enterDriver([&](DriverState &) {
    if (!name || length <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, length, "%s", simulator().device.name);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  return enterDriver([&](DriverState &) {
    if (!uuid)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    memset(uuid->bytes, 0, sizeof uuid->bytes);
    snprintf(uuid->bytes, sizeof uuid->bytes, "kiln-sim-%d", device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return enterDriver([&](DriverState &) {
    if (!bytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    *bytes = simulator().options.memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  return enterDriver([&](DriverState &) {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    const kiln_sim_device &f = simulator().device;
    switch (attribute) {
#define ATTRIBUTE(name, fact)                                                                      \
  case CU_DEVICE_ATTRIBUTE_##name:                                                                 \
    *value = int(fact);                                                                            \
    return CUDA_SUCCESS;
      ATTRIBUTE(MAX_THREADS_PER_BLOCK, kMaxThreads)
      ATTRIBUTE(MAX_BLOCK_DIM_X, 1024)
      ATTRIBUTE(MAX_BLOCK_DIM_Y, 1024)
      ATTRIBUTE(MAX_BLOCK_DIM_Z, 64)
      ATTRIBUTE(MAX_GRID_DIM_X, 2147483647)
      ATTRIBUTE(MAX_GRID_DIM_Y, 65535)
      ATTRIBUTE(MAX_GRID_DIM_Z, 65535)
      ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10)
      ATTRIBUTE(WARP_SIZE, 32)
      ATTRIBUTE(MAX_REGISTERS_PER_BLOCK, 65536)
      ATTRIBUTE(CLOCK_RATE, f.clock_khz)
      ATTRIBUTE(MULTIPROCESSOR_COUNT, f.multiprocessors)
      ATTRIBUTE(INTEGRATED, 0)
      ATTRIBUTE(CONCURRENT_KERNELS, 1)
      ATTRIBUTE(ECC_ENABLED, 0)
      ATTRIBUTE(MEMORY_CLOCK_RATE, f.memory_clock_khz)
      ATTRIBUTE(GLOBAL_MEMORY_BUS_WIDTH, f.memory_bus_bits)
      ATTRIBUTE(L2_CACHE_SIZE, f.l2_bytes)
      ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR, f.threads_per_multiprocessor)
      ATTRIBUTE(ASYNC_ENGINE_COUNT, 2)
      ATTRIBUTE(UNIFIED_ADDRESSING, 1)
      ATTRIBUTE(COMPUTE_CAPABILITY_MAJOR, f.major)
      ATTRIBUTE(COMPUTE_CAPABILITY_MINOR, f.minor)
      ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, f.shared_per_multiprocessor)
      ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR, f.registers_per_multiprocessor)
      ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, f.shared_per_block_optin)
      ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR, f.blocks_per_multiprocessor)
      ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK, f.shared_reserved_per_block)
      ATTRIBUTE(MEMORY_POOLS_SUPPORTED, 1)
#undef ATTRIBUTE
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return enterDriver([&](DriverState &d) {
    if (!context)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    CUcontext &primary = d.primary[device];
    if (!primary) {
      primary = makeContext(d, device);
      primary->primary = true;
    }
    ++primary->references;
    *context = primary;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return enterDriver([&](DriverState &d) {
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    auto it = d.primary.find(device);
    if (it == d.primary.end())
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--it->second->references)
      return CUDA_SUCCESS;
    destroyContext(d, it->second);
    d.primary.erase(it);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return enterDriver([&](DriverState &d) {
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    auto it = d.primary.find(device);
    if (it == d.primary.end())
      return CUDA_SUCCESS;
    destroyContext(d, it->second);
    d.primary.erase(it);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  return enterDriver([&](DriverState &d) {
    if (!flags || !active)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = d.primary.count(device) != 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned, CUdevice device) {
  return enterDriver([&](DriverState &d) {
    if (!context || contextStack.count == std::size(contextStack.entries))
      return CUDA_ERROR_INVALID_VALUE;
    if (!isDevice(device))
      return CUDA_ERROR_INVALID_DEVICE;
    *context = makeContext(d, device);
    contextStack.entries[contextStack.count++] = *context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  return enterDriver([&](DriverState &d) {
    if (!d.contexts.count(context) || context->primary)
      return CUDA_ERROR_INVALID_CONTEXT;
    destroyContext(d, context);
    if (currentContext() == context)
      --contextStack.count;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return enterDriver([&](DriverState &d) {
    if (!d.contexts.count(context))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (contextStack.count == std::size(contextStack.entries))
      return CUDA_ERROR_INVALID_VALUE;
    contextStack.entries[contextStack.count++] = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  return enterDriver([&](DriverState &) {
    if (!contextStack.count)
      return CUDA_ERROR_INVALID_CONTEXT;
    --contextStack.count;
    if (context)
      *context = contextStack.entries[contextStack.count];
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return enterDriver([&](DriverState &d) {
    if (context && !d.contexts.count(context))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (contextStack.count)
      --contextStack.count;
    if (context)
      contextStack.entries[contextStack.count++] = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  return enterDriver([&](DriverState &) {
    if (!context)
      return CUDA_ERROR_INVALID_VALUE;
    *context = currentContext();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return enterDriver([&](DriverState &d) {
    CUcontext context = currentContext();
    if (!context || !d.contexts.count(context))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (breaksCapture(d))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    drainContext(d, context);
    return context.lost;
  });
}
}

} // namespace kiln::cudasim
