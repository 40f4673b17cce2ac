//===- DeviceRun.cpp - A session's tensors on a device --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceRun.h"

#include "Session.h"

namespace kiln::rt {

//===----------------------------------------------------------------------===//
// Memory there
//===----------------------------------------------------------------------===//

DeviceRun::~DeviceRun() {
  for (Block &block : inputs)
    block.reset();
  for (Output &output : outputs)
    output.block.reset();
  arena.reset();
  memory.destroy();
  if (queue)
    queue->destroy();
  std::free(fetched);
}

bool DeviceRun::create(DeviceQueue *given, const kiln_module &module) {
  queue = given;
  if (!inputs.allocate(module.num_inputs) || !outputs.allocate(module.num_outputs) ||
      !key.allocate(size_t(module.num_inputs) + module.num_outputs + 2) ||
      !memory.create(queue->pool()))
    return false;
  arena.setPool(queue->pool());
  for (Block &block : inputs)
    block.setPool(queue->pool());
  for (Output &output : outputs)
    output.block.setPool(queue->pool());
  return true;
}

/// A device that is lost gives no memory either: that is said first.
static kiln_status_t failForMemory(DeviceRun &run, ErrorText &error, const char *what,
                                   uint64_t bytes) {
  if (kiln_status_t status = run.queue->finish(error))
    return status;
  return error.fail(KILN_OUT_OF_MEMORY, "no memory on the device for %s of %llu bytes", what,
                    static_cast<unsigned long long>(bytes));
}

kiln_status_t DeviceRun::bringInput(uint32_t index, const void *&data, uint64_t bytes,
                                    ErrorText &error) {
  if (!inputs[index].reserve(bytes ? bytes : 1))
    return failForMemory(*this, error, "an input", bytes);
  const void *from = data;
  data = inputs[index].get();
  return bytes ? queue->upload(inputs[index].get(), from, bytes, error) : KILN_OK;
}

void *DeviceRun::placeOutput(uint32_t index, void *host, uint64_t bytes) {
  Output &output = outputs[index];
  output.host = host;
  output.bytes = bytes;
  return output.block.reserve(bytes ? bytes : 1) ? output.block.get() : nullptr;
}

kiln_status_t DeviceRun::finish(ErrorText &error) {
  for (Output &output : outputs)
    if (output.bytes)
      if (kiln_status_t status =
              queue->download(output.host, output.block.get(), output.bytes, error))
        return status;
  return queue->finish(error);
}

const void *DeviceRun::fetch(const void *from, uint64_t bytes, kiln_status_t &status,
                             ErrorText &error) {
  if (bytes > capacity || !fetched) {
    std::free(fetched);
    fetched = static_cast<uint8_t *>(std::malloc(bytes ? bytes : 1));
    capacity = fetched ? bytes : 0;
    if (!fetched) {
      status = error.fail(KILN_OUT_OF_MEMORY, "no memory to read from the device");
      return nullptr;
    }
  }
  status = bytes ? queue->download(fetched, from, bytes, error) : KILN_OK;
  if (status == KILN_OK)
    status = queue->finish(error);
  return status == KILN_OK ? fetched : nullptr;
}

//===----------------------------------------------------------------------===//
// The session's part
//===----------------------------------------------------------------------===//

kiln_status_t Session::bringInputs() {
  for (uint32_t i = 0; i != module.num_inputs; ++i) {
    const DLTensor *tensor = i < numCallInputs ? callInputs[i] : nullptr;
    if (!tensor) {
      inputData[i] = device->queue->weights() + module.inputs[i].default_offset;
      continue;
    }
    uint64_t bytes;
    if (!denseBytes(tensor->shape, module.inputs[i].rank, module.inputs[i].dtype, bytes))
      return error.fail(KILN_INVALID_SHAPE, "input '%s' is larger than memory can be",
                        module.inputs[i].name);
    if (kiln_status_t status = device->bringInput(i, inputData[i], bytes, error))
      return status;
  }
  return KILN_OK;
}

bool Session::moveOutput(uint32_t index) {
  outputData[index] = device->placeOutput(index, outputData[index], outputs[index].bytes);
  return outputData[index];
}

kiln_status_t Session::callDevice(Plan &plan) {
  if (kiln_status_t status = bringInputs())
    return status;
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    if (!(module.outputs[i].flags & KILN_MODULE_TENSOR_LATE) && !moveOutput(i))
      return failForMemory(*device, error, "an output", outputs[i].bytes);
  if (!device->arena.reserve(plan.arenaBytes ? plan.arenaBytes : 1))
    return failForMemory(*device, error, "an arena", plan.arenaBytes);
  frame.symbols = plan.symbols;
  frame.arena = device->arena.get();
  frame.offsets = plan.offsets;
  frame.weights = device->queue->weights();
  frame.services = &deviceServices;
  serviceStatus = KILN_OK;
  const void **key = device->key.get();
  *key++ = &plan;
  *key++ = frame.arena;
  for (uint32_t i = 0; i != module.num_inputs; ++i)
    *key++ = inputData[i];
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    *key++ = outputData[i];
  for (bool again = true; again;) {
    bool replayed;
    if (kiln_status_t status = device->queue->beginRun(
            device->key.get(), uint32_t(device->key.size()), replayed, error))
      return status;
    if (replayed)
      break;
    int32_t code = module.run(&frame);
    if (serviceStatus == KILN_OK && code != KILN_MODULE_OK)
      serviceStatus = reportFault(module, code, frame.fault, error);
    kiln_status_t ended = device->queue->endRun(serviceStatus == KILN_OK, again, error);
    if (serviceStatus == KILN_OK)
      serviceStatus = ended;
  }
  if (serviceStatus == KILN_OK)
    serviceStatus = device->finish(error);
  device->memory.clear();
  return serviceStatus;
}

void *Session::placeLateOnDevice(uint32_t index, const int64_t *dims) {
  if (!placeLateOutput(index, dims))
    return nullptr;
  if (!moveOutput(index))
    serviceStatus = failForMemory(*device, error, "an output", outputs[index].bytes);
  return outputData[index];
}

// A launch or a copy that fails leaves its status; what comes after does nothing.
constinit const kiln_module_services Session::deviceServices = {
    [](kiln_module_frame *frame, uint32_t, kiln_module_kernel_fn, const void *args, int64_t extent,
       uint32_t kernel) {
      Session &session = of(frame);
      if (session.serviceStatus == KILN_OK && extent > 0)
        session.serviceStatus = session.device->queue->launch(kernel, args, extent, session.error);
    },
    [](kiln_module_frame *frame, uint64_t bytes) {
      return of(frame).device->memory.allocate(bytes);
    },
    [](kiln_module_frame *frame, void *memory) { of(frame).device->memory.release(memory); },
    [](kiln_module_frame *frame, uint32_t index, const int64_t *dims) {
      return of(frame).placeLateOnDevice(index, dims);
    },
    [](kiln_module_frame *frame) { return of(frame).device->memory.mark(); },
    [](kiln_module_frame *frame, void *mark, void *const *kept, uint32_t count) {
      of(frame).device->memory.releaseSince(mark, kept, count);
    },
    [](kiln_module_frame *frame, const void *memory, uint64_t bytes) -> const void * {
      Session &session = of(frame);
      if (session.serviceStatus != KILN_OK)
        return nullptr;
      return session.device->fetch(memory, bytes, session.serviceStatus, session.error);
    },
    [](kiln_module_frame *frame, void *to, const void *from, uint64_t bytes) {
      Session &session = of(frame);
      if (session.serviceStatus == KILN_OK && bytes)
        session.serviceStatus = session.device->queue->copy(to, from, bytes, session.error);
    }};

} // namespace kiln::rt
