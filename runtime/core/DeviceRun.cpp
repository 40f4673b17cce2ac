//===- DeviceRun.cpp - A session's tensors on a device --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceRun.h"

#include "Session.h"

#include <cstring>

namespace kiln::rt {

//===----------------------------------------------------------------------===//
// Memory there
//===----------------------------------------------------------------------===//

DeviceRun::~DeviceRun() {
  // Before the queue, whose pool they are from.
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

bool DeviceRun::create(DeviceQueue *given, const kiln_module &plan) {
  queue = given;
  module = &plan;
  if (!inputs.allocate(plan.num_inputs) || !outputs.allocate(plan.num_outputs) ||
      !key.allocate(size_t(1) + plan.num_inputs + plan.num_outputs + plan.num_bound_symbols) ||
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

kiln_status_t DeviceRun::bringInput(uint32_t index, const void *from, uint64_t bytes,
                                    ErrorText &error) {
  if (!from) {
    inputData()[index] = queue->weights() + module->inputs[index].default_offset;
    return KILN_OK;
  }
  if (!inputs[index].reserve(bytes ? bytes : 1))
    return failForMemory(*this, error, "an input", bytes);
  inputData()[index] = inputs[index].get();
  return bytes ? queue->upload(inputs[index].get(), from, bytes, error) : KILN_OK;
}

kiln_status_t DeviceRun::placeOutput(uint32_t index, void *host, uint64_t bytes, ErrorText &error) {
  Output &output = outputs[index];
  output.host = host;
  output.bytes = bytes;
  if (!output.block.reserve(bytes ? bytes : 1))
    return failForMemory(*this, error, "an output", bytes);
  outputData()[index] = output.block.get();
  return KILN_OK;
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
    uint64_t bytes = 0;
    if (tensor && !denseBytes(tensor->shape, module.inputs[i].rank, module.inputs[i].dtype, bytes))
      return error.fail(KILN_INVALID_SHAPE, "input '%s' is larger than memory can be",
                        module.inputs[i].name);
    if (kiln_status_t status = device->bringInput(i, tensor ? inputData[i] : nullptr, bytes, error))
      return status;
  }
  return KILN_OK;
}

kiln_status_t Session::moveOutput(uint32_t index) {
  return device->placeOutput(index, outputData[index], outputs[index].bytes, error);
}

kiln_status_t Session::callDevice(Plan &plan) {
  kiln_status_t status = launchOnDevice(plan);
  if (status == KILN_OK)
    status = device->finish(error);
  if (status != KILN_OK) {
    // The caller's memory must be done with, whatever else has failed.
    ErrorText ignored;
    device->queue->finish(ignored);
  }
  device->memory.clear();
  return status;
}

kiln_status_t Session::launchOnDevice(Plan &plan) {
  if (kiln_status_t status = bringInputs())
    return status;
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    if (!(module.outputs[i].flags & KILN_MODULE_TENSOR_LATE))
      if (kiln_status_t status = moveOutput(i))
        return status;
  if (!device->arena.reserve(plan.arenaBytes ? plan.arenaBytes : 1))
    return failForMemory(*device, error, "an arena", plan.arenaBytes);
  frame.symbols = plan.symbols;
  frame.arena = device->arena.get();
  frame.offsets = plan.offsets;
  serviceStatus = KILN_OK;
  device->key[0] = reinterpret_cast<uint64_t>(frame.arena);
  std::memcpy(device->symbols(), plan.symbols, module.num_bound_symbols * sizeof(int64_t));
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
  return serviceStatus;
}

void *Session::placeLateOnDevice(uint32_t index, const int64_t *dims) {
  if (!placeLateOutput(index, dims))
    return nullptr;
  device->queue->forbidReplay();
  serviceStatus = moveOutput(index);
  return serviceStatus == KILN_OK ? device->outputData()[index] : nullptr;
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
      of(frame).device->queue->forbidReplay();
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
