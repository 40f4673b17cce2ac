//===- DriverMemory.cpp - Memory of the simulated driver ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include "PinnedMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace kiln::cudasim {
namespace {

CUresult allocate(DriverState &d, CUctx_st &context, CUdeviceptr *pointer, size_t bytes) {
  if (!pointer || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  Simulator &s = simulator();
  uint64_t &used = d.usedBytes[context.device];
  if (++s.allocations == s.options.fail_allocation || used > s.options.memory_bytes ||
      bytes > s.options.memory_bytes - used)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const uintptr_t address = s.memory.allocate(bytes, context.device);
  if (!address)
    return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  d.highBytes[context.device] = std::max(d.highBytes[context.device], used);
  d.allocations[address] = &context;
  *pointer = address;
  return CUDA_SUCCESS;
}

bool isDeviceRange(CUdeviceptr pointer, size_t bytes) {
  return simulator().memory.isLive(pointer, bytes);
}

void *hostPointer(CUdeviceptr pointer) { return reinterpret_cast<void *>(uintptr_t(pointer)); }

enum class Side { Device, Pinned, Pageable };
Side sideOf(const void *pointer, size_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  if (simulator().memory.contains(address))
    return Side::Device;
  return isPinned(address, bytes) ? Side::Pinned : Side::Pageable;
}

/// Copies as cuMemcpy*Async: from pageable memory the source is read before the
/// call returns, to pageable memory the call waits for the copy.
CUresult copyAsync(DriverState &d, CUctx_st &context, void *to, const void *from, size_t bytes,
                   CUstream handle) {
  CUstream stream = findStream(d, context, handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!bytes)
    return CUDA_SUCCESS;
  const Side source = sideOf(from, bytes), target = sideOf(to, bytes);
  if (!to || !from ||
      (source == Side::Device && !isDeviceRange(reinterpret_cast<uintptr_t>(from), bytes)) ||
      (target == Side::Device && !isDeviceRange(reinterpret_cast<uintptr_t>(to), bytes)))
    return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.kind = OperationKind::Copy;
  operation.to = to;
  operation.from = from;
  operation.bytes = bytes;
  const bool captured = stream->capture != nullptr;
  if (source == Side::Pageable && !captured)
    operation.staged.assign(static_cast<const unsigned char *>(from),
                            static_cast<const unsigned char *>(from) + bytes);
  if (CUresult failed = submit(d, *stream, std::move(operation)))
    return failed;
  if (target == Side::Pageable && !captured)
    drainStream(d, *stream);
  return context.lost;
}

CUresult copyNow(void *to, const void *from, size_t bytes) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (breaksCapture(d))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (CUresult failed = copyAsync(d, context, to, from, bytes, CU_STREAM_LEGACY))
      return failed;
    drainStream(d, *d.defaultStreams[&context]);
    return context.lost;
  });
}

CUresult fill(CUdeviceptr to, unsigned value, unsigned valueBytes, size_t count, CUstream handle,
              bool wait) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (wait && breaksCapture(d))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!count)
      return CUDA_SUCCESS;
    if (to % valueBytes || !isDeviceRange(to, count * valueBytes))
      return CUDA_ERROR_INVALID_VALUE;
    Operation operation;
    operation.kind = OperationKind::Fill;
    operation.to = hostPointer(to);
    operation.bytes = count * valueBytes;
    operation.value = value;
    operation.valueBytes = valueBytes;
    if (CUresult failed = submit(d, *stream, std::move(operation)))
      return failed;
    if (wait)
      drainStream(d, *stream);
    return context.lost;
  });
}

} // namespace

bool freeMemory(DriverState &d, CUdeviceptr pointer) {
  const Allocation &a = simulator().memory.owner(pointer);
  const size_t bytes = a.end - a.begin;
  const int device = a.device;
  if (!simulator().memory.free(pointer))
    return false;
  d.usedBytes[device] -= bytes;
  d.allocations.erase(pointer);
  return true;
}

extern "C" {

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!free || !total)
      return CUDA_ERROR_INVALID_VALUE;
    *total = simulator().options.memory_bytes;
    *free = *total - d.usedBytes[context.device];
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    return breaksCapture(d) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                            : allocate(d, context, pointer, bytes);
  });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    if (!pointer)
      return CUDA_SUCCESS;
    if (breaksCapture(d))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    drainContext(d, context);
    return freeMemory(d, pointer) ? context.lost : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
  return enterContext([&](DriverState &, CUctx_st &) {
    if (!isDeviceRange(pointer, 0))
      return CUDA_ERROR_NOT_FOUND;
    const Allocation &a = simulator().memory.owner(pointer);
    if (base)
      *base = a.begin;
    if (size)
      *size = a.end - a.begin;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream handle) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    // Memory nodes of graphs are not modelled.
    if (stream->capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return allocate(d, context, pointer, bytes);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    CUstream stream = findStream(d, context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!pointer)
      return CUDA_SUCCESS;
    if (!d.allocations.count(pointer))
      return CUDA_ERROR_INVALID_VALUE;
    enqueue(d, *stream, [&d, pointer] {
      return freeMemory(d, pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
    return context.lost;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  return enterDriver([&](DriverState &d) {
    if (!pool)
      return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || uint64_t(device) >= simulator().options.device_count)
      return CUDA_ERROR_INVALID_DEVICE;
    *pool = &d.pools[device];
    (*pool)->device = device;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  return enterDriver([&](DriverState &d) {
    if (!pool || !value)
      return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      memcpy(&pool->releaseThreshold, value, sizeof(uint64_t));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      d.highBytes[pool->device] = d.usedBytes[pool->device];
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  return enterDriver([&](DriverState &d) {
    if (!pool || !value)
      return CUDA_ERROR_INVALID_VALUE;
    uint64_t answer = 0;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      answer = pool->releaseThreshold;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      answer = d.usedBytes[pool->device];
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      answer = d.highBytes[pool->device];
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &answer, sizeof answer);
    return CUDA_SUCCESS;
  });
}

/// The model's pools keep nothing.
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return enterDriver([&](DriverState &) { return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  return enterContext([&](DriverState &, CUctx_st &) {
    if (!pointer || !bytes)
      return CUDA_ERROR_INVALID_VALUE;
    Simulator &s = simulator();
    constexpr size_t page = DeviceMemory::kPage;
    void *memory = nullptr;
    if (++s.allocations == s.options.fail_allocation ||
        !(memory = aligned_alloc(page, (bytes + page - 1) / page * page)))
      return CUDA_ERROR_OUT_OF_MEMORY;
    pin(reinterpret_cast<uintptr_t>(memory), bytes);
    *pointer = memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void *pointer) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    drainContext(d, context);
    if (!unpin(reinterpret_cast<uintptr_t>(pointer)))
      return CUDA_ERROR_INVALID_VALUE;
    free(pointer);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned) {
  return enterContext([&](DriverState &, CUctx_st &) {
    if (!pointer || !bytes)
      return CUDA_ERROR_INVALID_VALUE;
    return pin(reinterpret_cast<uintptr_t>(pointer), bytes)
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult cuMemHostUnregister(void *pointer) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    drainContext(d, context);
    return unpin(reinterpret_cast<uintptr_t>(pointer)) ? CUDA_SUCCESS
                                                       : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *pointer, unsigned) {
  return enterContext([&](DriverState &, CUctx_st &) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (!device || !isPinned(address, 1))
      return CUDA_ERROR_INVALID_VALUE;
    *device = address;
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return enterContext([&](DriverState &d, CUctx_st &) {
    if (!data)
      return CUDA_ERROR_INVALID_VALUE;
    const bool onDevice = isDeviceRange(pointer, 0), pinned = isPinned(pointer, 1);
    if (!onDevice && !pinned)
      return CUDA_ERROR_INVALID_VALUE;
    const Allocation &a = simulator().memory.owner(pointer);
    auto give = [&](auto value) {
      memcpy(data, &value, sizeof value);
      return CUDA_SUCCESS;
    };
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(onDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(int(onDevice ? a.device : 0));
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(onDevice ? d.allocations[a.begin] : CUcontext(nullptr));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return onDevice ? give(CUdeviceptr(a.begin)) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return onDevice ? give(size_t(a.end - a.begin)) : CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copyNow(hostPointer(to), from, bytes);
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copyNow(to, hostPointer(from), bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copyNow(hostPointer(to), hostPointer(from), bytes);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    return copyAsync(d, context, hostPointer(to), hostPointer(from), bytes, stream);
  });
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    return copyAsync(d, context, hostPointer(to), from, bytes, stream);
  });
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enterContext([&](DriverState &d, CUctx_st &context) {
    return copyAsync(d, context, to, hostPointer(from), bytes, stream);
  });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return fill(to, value, 1, count, CU_STREAM_LEGACY, true);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return fill(to, value, 4, count, CU_STREAM_LEGACY, true);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, value, 1, count, stream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill(to, value, 4, count, stream, false);
}
}

} // namespace kiln::cudasim
