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
  // Before the queue, whose pool they are from, and after what it still does there.
  ErrorText ignored;
  if (queue)
    queue->wait(ignored);
  giveBack();
  memory.destroy();
  if (queue)
    queue->destroy();
  std::free(fetched);
}

void DeviceRun::giveBack() {
  for (Input &input : inputs)
    input.block.reset();
  for (Output &output : outputs)
    output.block.reset();
  arena.reset();
}

bool DeviceRun::create(DeviceQueue *given, const kiln_module &plan) {
  queue = given;
  module = &plan;
  if (!inputs.allocate(plan.num_inputs) || !outputs.allocate(plan.num_outputs) ||
      !key.allocate(size_t(1) + plan.num_inputs + plan.num_outputs + plan.num_bound_symbols) ||
      !memory.create(queue->pool(), /*keepsReleased=*/true))
    return false;
  arena.setPool(queue->pool());
  for (Input &input : inputs)
    input.block.setPool(queue->pool());
  for (Output &output : outputs)
    output.block.setPool(queue->pool());
  return true;
}

kiln_status_t DeviceRun::failForMemory(const char *what, uint64_t bytes, ErrorText &error) {
  if (kiln_status_t status = queue->finish(error))
    return status;
  return error.fail(KILN_OUT_OF_MEMORY, "no memory on the device for %s of %llu bytes", what,
                    static_cast<unsigned long long>(bytes));
}

bool DeviceRun::reserve(Block &block, uint64_t bytes) {
  // Nobody may have what is given back for it while the device still uses it.
  ErrorText ignored;
  if (block.size() && block.size() < bytes)
    queue->finish(ignored);
  return block.reserve(bytes);
}

kiln_status_t DeviceRun::copyInput(uint32_t index, uint64_t bytes, ErrorText &error) {
  Input &input = inputs[index];
  if (!reserve(input.block, bytes))
    return failForMemory("a copy of an input", bytes, error);
  const void *from = std::exchange(input.there, input.block.get());
  return queue->copy(input.block.get(), from, bytes, error);
}

kiln_status_t DeviceRun::bringInput(uint32_t index, const void *from, uint64_t bytes,
                                    ErrorText &error) {
  Input &input = inputs[index];
  if (input.there) {
    if (reinterpret_cast<uintptr_t>(input.there) % kDeviceAlignment)
      if (kiln_status_t status = copyInput(index, bytes, error))
        return status;
    inputData()[index] = input.there;
    return KILN_OK;
  }
  if (!from) {
    inputData()[index] = queue->weights() + module->inputs[index].default_offset;
    return KILN_OK;
  }
  if (!reserve(input.block, bytes ? bytes : 1))
    return failForMemory("an input", bytes, error);
  inputData()[index] = input.block.get();
  return bytes ? queue->upload(input.block.get(), from, bytes, error) : KILN_OK;
}

kiln_status_t DeviceRun::placeOutput(uint32_t index, void *target, bool isThere, uint64_t bytes,
                                     ErrorText &error) {
  Output &output = outputs[index];
  output.target = target;
  output.isThere = isThere;
  output.bytes = bytes;
  if (!reserve(output.block, bytes ? bytes : 1))
    return failForMemory("an output", bytes, error);
  outputData()[index] = output.block.get();
  return KILN_OK;
}

kiln_status_t DeviceRun::bringOutputs(ErrorText &error) {
  for (Output &output : outputs) {
    if (!output.bytes)
      continue;
    kiln_status_t status =
        output.isThere ? queue->copy(output.target, output.block.get(), output.bytes, error)
                       : queue->download(output.target, output.block.get(), output.bytes, error);
    if (status != KILN_OK)
      return status;
  }
  return KILN_OK;
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

kiln_status_t Session::checkOnDevice(const char *kind, const kiln_module_tensor &spec,
                                     const void *memory, uint64_t bytes) {
  TextBuilder what;
  what.append("%s '%s'", kind, spec.name);
  uint64_t alignment = elementBytes(spec.dtype);
  if (uintptr_t(memory) % alignment)
    return error.fail(KILN_INVALID_ARGUMENT,
                      "%s: %p is no multiple of its element's %llu bytes, as memory of a device "
                      "must be",
                      what.get(), memory, static_cast<unsigned long long>(alignment));
  return device->queue->inspect(memory, bytes, what.get(), error);
}

kiln_status_t Session::placeOnDevice(uint32_t index, OutputSlot &slot) {
  const kiln_module_tensor &spec = module.outputs[index];
  callOnDevice = true;
  switch (slot.owner) {
  case OutputSlot::Owner::Caller:
    if (!slot.bytes) {
      device->useOutput(index, slot.memory);
    } else if (kiln_status_t status = checkOnDevice("output", spec, slot.memory, slot.bytes)) {
      return status;
    } else if (uintptr_t(slot.memory) % kDeviceAlignment) {
      if (kiln_status_t copied =
              device->placeOutput(index, slot.memory, /*isThere=*/true, slot.bytes, error))
        return copied;
    } else {
      device->useOutput(index, slot.memory);
    }
    break;
  case OutputSlot::Owner::Session: {
    Block &block = device->outputBlock(index);
    if (!device->reserve(block, slot.bytes ? slot.bytes : 1))
      return device->failForMemory("an output", slot.bytes, error);
    slot.memory = block.get();
    slot.capacity = slot.bytes;
    device->useOutput(index, slot.memory);
    break;
  }
  case OutputSlot::Owner::Managed:
    if (!createManaged(index, slot))
      return device->failForMemory("an output", slot.bytes, error);
    device->useOutput(index, slot.managed->dl_tensor.data);
    break;
  }
  outputData[index] = device->outputData()[index];
  return KILN_OK;
}

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
  const OutputSlot &slot = outputs[index];
  return slot.onDevice
             ? KILN_OK
             : device->placeOutput(index, outputData[index], /*isThere=*/false, slot.bytes, error);
}

kiln_status_t Session::enterDevice() {
  kiln_status_t status = device->queue->enter(runStream, error);
  deviceFault = status != KILN_OK && status != KILN_INVALID_ARGUMENT;
  device->beginInputs();
  return status;
}

bool Session::mustWait() const {
  if (!(runFlags & KILN_RUN_ASYNC) || model.integrity || profiles || !device->memory.isEmpty())
    return true;
  // A copy on the host comes behind it.
  for (const OutputSlot &slot : outputs)
    if (slot.copyBack)
      return true;
  return false;
}

kiln_status_t Session::callDevice(Plan &plan) {
  DeviceQueue &queue = *device->queue;
  kiln_status_t status = launchOnDevice(plan);
  if (status == KILN_OK)
    status = device->bringOutputs(error);
  if (status == KILN_OK)
    status = mustWait() ? queue.finish(error) : queue.leave(error);
  if (status != KILN_OK) {
    // The caller's memory must be done with, whatever else has failed.
    ErrorText ignored;
    queue.finish(ignored);
    deviceFault = status == KILN_DEVICE_FAILED || status == KILN_OUT_OF_MEMORY;
    if (status == KILN_OUT_OF_MEMORY)
      device->giveBack();
  }
  device->memory.clear();
  return status;
}

kiln_status_t Session::fetchOutput(uint32_t index, const void *&data) {
  kiln_status_t status = KILN_OK;
  data = outputs[index].onDevice
             ? device->fetch(outputData[index], outputs[index].bytes, status, error)
             : outputData[index];
  return status;
}

kiln_status_t Session::wait() {
  return locked([](Session &session) {
    session.error.clear();
    return session.device ? session.device->queue->wait(session.error) : KILN_OK;
  });
}

bool Session::handOver(kiln_status_t status) {
  deviceFault = false;
  counts.deviceFailures.add(1);
  Session *made = nullptr;
  ErrorText reason;
  reason.fail(KILN_OK, "%s failed: %s", deviceName(), error.get());
  if (mayHandOver && !callOnDevice && make(model, twinOptions, nullptr, reason, made) == KILN_OK)
    made->counts.isTwin = true;
  model.noteDeviceFailure(deviceName(), made ? KILN_OK : status, error.get());
  if (!made) {
    noteFailure(status);
    return false;
  }
  twin = made;
  // Others may lack what this session held.
  kiln_pool *left = device->queue->pool();
  device->giveBack();
  left->api->trim(left, 0);
  closeDevice();
  return true;
}

void Session::closeDevice() {
  if (device)
    destroyObject(device);
  if (deviceModel)
    model.closeDevice(deviceModel);
  device = nullptr;
  deviceModel = nullptr;
}

kiln_status_t Session::launchOnDevice(Plan &plan) {
  if (kiln_status_t status = bringInputs())
    return status;
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    if (!(module.outputs[i].flags & KILN_MODULE_TENSOR_LATE))
      if (kiln_status_t status = moveOutput(i))
        return status;
  if (!device->reserve(device->arena, plan.arenaBytes ? plan.arenaBytes : 1))
    return device->failForMemory("an arena", plan.arenaBytes, error);
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
    [](kiln_module_frame *frame, uint32_t index, kiln_module_kernel_fn, const void *args,
       int64_t extent, uint32_t kernel) {
      Session &session = of(frame);
      if (session.serviceStatus == KILN_OK && extent > 0)
        session.serviceStatus =
            session.device->queue->launch(index, kernel, args, extent, session.error);
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
