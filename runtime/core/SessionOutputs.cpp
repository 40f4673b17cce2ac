//===- SessionOutputs.cpp - A run's outputs: the caller's, the session's, managed -===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"

#include <algorithm>
#include <cstring>

namespace kiln::rt {
namespace {

/// In one block with its dims and strides. Its elements are in a block of their
/// own: behind a head they would miss their size class.
struct ManagedOutput {
  DLManagedTensorVersioned tensor;
  kiln_pool *pool;
  /// Of the elements: the same, or the device's.
  kiln_pool *dataPool;
  uint64_t headBytes;
  uint64_t dataBytes;
};

void deleteManaged(DLManagedTensorVersioned *tensor) {
  ManagedOutput output = *static_cast<ManagedOutput *>(tensor->manager_ctx);
  output.dataPool->api->release_shared(output.dataPool, output.tensor.dl_tensor.data,
                                       output.dataBytes);
  output.dataPool->api->drop(output.dataPool);
  output.pool->api->release_shared(output.pool, tensor->manager_ctx, output.headBytes);
  output.pool->api->drop(output.pool);
  liveObjects.fetch_sub(1, std::memory_order_release);
}

void fillStrides(const int64_t *dims, uint32_t rank, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
}

DLTensor describe(const kiln_module_tensor &spec, DLDevice place, void *data, int64_t *dims,
                  int64_t *strides) {
  DLTensor tensor = {};
  tensor.data = data;
  tensor.device = place;
  tensor.ndim = int32_t(spec.rank);
  tensor.dtype = {spec.dtype.code, spec.dtype.bits, spec.dtype.lanes};
  tensor.shape = dims;
  tensor.strides = strides;
  return tensor;
}

} // namespace

bool Session::createManaged(uint32_t index, OutputSlot &slot) {
  const kiln_module_tensor &spec = module.outputs[index];
  kiln_pool_cache *heads = runMemory.poolCache();
  kiln_pool_cache *cache = slot.onDevice ? device->memory.poolCache() : heads;
  kiln_pool *dataPool = slot.onDevice ? device->queue->pool() : pool.get();
  uint64_t head = sizeof(ManagedOutput) + 2 * spec.rank * sizeof(int64_t);
  auto *memory = static_cast<uint8_t *>(heads->api->cache_allocate(heads, head));
  void *data = memory ? cache->api->cache_allocate(cache, slot.bytes) : nullptr;
  if (!data) {
    if (memory)
      heads->api->cache_release(heads, memory, head);
    return false;
  }
  auto *managed = new (memory) ManagedOutput{{}, pool.get(), dataPool, head, slot.bytes};
  pool.get()->api->retain(pool.get());
  dataPool->api->retain(dataPool);
  auto *shape = reinterpret_cast<int64_t *>(memory + sizeof(ManagedOutput));
  std::copy(slot.dims, slot.dims + spec.rank, shape);
  fillStrides(shape, spec.rank, shape + spec.rank);
  managed->tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->tensor.manager_ctx = memory;
  if (spec.dtype.bits < 8)
    managed->tensor.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  managed->tensor.deleter = deleteManaged;
  managed->tensor.dl_tensor =
      describe(spec, slot.onDevice ? place : DLDevice{kDLCPU, 0}, data, shape, shape + spec.rank);
  liveObjects.fetch_add(1, std::memory_order_relaxed);
  slot.managed = &managed->tensor;
  return true;
}

kiln_status_t Session::placeOutputs(const Plan &plan) {
  const int64_t *dims = plan.outputDims;
  for (uint32_t i = 0; i != module.num_outputs; ++i) {
    const kiln_module_tensor &spec = module.outputs[i];
    OutputSlot &slot = outputs[i];
    slot.copyBack = false;
    slot.onDevice = slot.owner == OutputSlot::Owner::Caller ? !isHost(*slot.tensor)
                                                            : runFlags & KILN_RUN_DEVICE_OUTPUTS;
    slot.memory = nullptr;
    slot.capacity = 0;
    bool late = spec.flags & KILN_MODULE_TENSOR_LATE;
    outputData[i] = nullptr;
    if (slot.owner == OutputSlot::Owner::Caller) {
      if (kiln_status_t status = checkOutput(module, i, *slot.tensor, place, dims, error))
          [[unlikely]]
        return status;
      slot.capacity = plan.outputBytes[i];
      // Of a late output, the room that the caller has.
      if (late && !denseBytes(slot.tensor->shape, spec.rank, spec.dtype, slot.capacity))
        return error.fail(KILN_INVALID_SHAPE, "output '%s' is larger than memory can be",
                          spec.name);
      slot.memory = dataOf(*slot.tensor);
      for (uint32_t other = 0; other != i; ++other)
        if (outputs[other].owner == OutputSlot::Owner::Caller &&
            slot.memory < outputs[other].memory + outputs[other].capacity &&
            outputs[other].memory < slot.memory + slot.capacity) [[unlikely]]
          return error.fail(KILN_INVALID_ARGUMENT, "outputs '%s' and '%s' share memory",
                            module.outputs[other].name, spec.name);
    }
    // Before any block of the session grows: an input may be an earlier output.
    const uint8_t *written = slot.memory ? slot.memory : slot.block.get();
    uint64_t extent = slot.memory ? slot.capacity : slot.block.size();
    if (kiln_status_t status = separateInputs(written, extent)) [[unlikely]]
      return status;
    if (device) [[unlikely]] {
      const Block &there = device->outputBlock(i);
      if (kiln_status_t status = separateInputs(there.get(), there.size()))
        return status;
    }
    if (!late) {
      slot.dims = dims;
      slot.bytes = plan.outputBytes[i];
      if (kiln_status_t status = placeOutput(i, slot)) [[unlikely]]
        return status;
    }
    dims += spec.rank;
  }
  return KILN_OK;
}

kiln_status_t Session::placeOutput(uint32_t index, OutputSlot &slot) {
  const kiln_module_tensor &spec = module.outputs[index];
  bool isCallers = slot.owner == OutputSlot::Owner::Caller;
  if (isCallers && slot.bytes > slot.capacity)
    return error.fail(KILN_BUFFER_TOO_SMALL,
                      "output '%s': it has %llu bytes, there is room for %llu", spec.name,
                      static_cast<unsigned long long>(slot.bytes),
                      static_cast<unsigned long long>(slot.capacity));
  // A run that is made again asks for its late outputs again.
  if (slot.owner == OutputSlot::Owner::Managed && slot.managed) {
    slot.managed->deleter(slot.managed);
    slot.managed = nullptr;
  }
  if (slot.onDevice) [[unlikely]]
    return placeOnDevice(index, slot);
  switch (slot.owner) {
  case OutputSlot::Owner::Caller: {
    bool aligned = (uintptr_t(slot.memory) & (elementBytes(spec.dtype) - 1)) == 0;
    if (aligned) [[likely]] {
      outputData[index] = slot.memory;
      return KILN_OK;
    }
    slot.copyBack = true;
    if (!slot.block.reserve(slot.bytes))
      break;
    outputData[index] = slot.block.get();
    return KILN_OK;
  }
  case OutputSlot::Owner::Session:
    if (givesBack) [[unlikely]]
      slot.block.shrinkTo(slot.bytes);
    if (!slot.block.reserve(slot.bytes))
      break;
    outputData[index] = slot.memory = slot.block.get();
    slot.capacity = slot.bytes;
    return KILN_OK;
  case OutputSlot::Owner::Managed:
    if (!createManaged(index, slot))
      break;
    outputData[index] = slot.managed->dl_tensor.data;
    return KILN_OK;
  }
  return error.fail(KILN_OUT_OF_MEMORY, "no memory for output '%s' of %llu bytes", spec.name,
                    static_cast<unsigned long long>(slot.bytes));
}

void *Session::placeLateOutput(uint32_t index, const int64_t *dims) {
  if (index >= module.num_outputs || !(module.outputs[index].flags & KILN_MODULE_TENSOR_LATE)) {
    serviceStatus =
        error.fail(KILN_INTERNAL, "generated code asked for output %u, which is not late", index);
    return nullptr;
  }
  OutputSlot &slot = outputs[index];
  const kiln_module_tensor &spec = module.outputs[index];
  std::copy(dims, dims + spec.rank, slot.ownDims);
  slot.dims = slot.ownDims;
  serviceStatus =
      denseBytes(dims, spec.rank, spec.dtype, slot.bytes)
          ? placeOutput(index, slot)
          : error.fail(KILN_OUT_OF_MEMORY, "output '%s' is larger than memory can be", spec.name);
  return serviceStatus == KILN_OK ? outputData[index] : nullptr;
}

void Session::finishOutputs() {
  for (uint32_t i = 0; i != module.num_outputs; ++i) {
    const kiln_module_tensor &spec = module.outputs[i];
    OutputSlot &slot = outputs[i];
    if (slot.owner == OutputSlot::Owner::Session) {
      // Not the plan's dims, which go when the plan goes.
      if (slot.dims != slot.ownDims)
        std::copy(slot.dims, slot.dims + spec.rank, slot.ownDims);
      fillStrides(slot.ownDims, spec.rank, slot.strides);
      *slot.tensor = describe(spec, slot.onDevice ? place : DLDevice{kDLCPU, 0}, slot.memory,
                              slot.ownDims, slot.strides);
    } else if (slot.owner == OutputSlot::Owner::Caller) {
      if (slot.copyBack) [[unlikely]]
        std::memcpy(slot.memory, slot.block.get(), slot.bytes);
      if (spec.flags & KILN_MODULE_TENSOR_LATE) [[unlikely]]
        std::copy(slot.dims, slot.dims + spec.rank, slot.tensor->shape);
    }
  }
}

void Session::dropManaged() {
  for (OutputSlot &slot : outputs) {
    if (slot.managed)
      slot.managed->deleter(slot.managed);
    slot.managed = nullptr;
  }
}

} // namespace kiln::rt
