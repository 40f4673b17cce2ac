//===- SessionInputs.cpp - A run's inputs: dense, aligned, not overwritten -===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"

#include <cstring>

namespace kiln::rt {

/// What an empty tensor points to: generated code gets no null pointer.
alignas(kAlignment) static const uint8_t kNothing[kAlignment] = {};

kiln_status_t Session::takeDeviceInput(uint32_t index, const DLTensor &tensor, uint64_t bytes,
                                       bool needData) {
  const kiln_module_tensor &spec = module.inputs[index];
  inputData[index] = kNothing;
  // Who asks for shapes only may have no more than an address.
  if (!needData && !module.reads_inputs)
    return KILN_OK;
  callOnDevice = true;
  if (!isDense(tensor))
    return error.fail(KILN_UNSUPPORTED,
                      "input '%s': memory of a device must be dense and row-major, its strides "
                      "are not",
                      spec.name);
  const uint8_t *there = dataOf(tensor);
  if (kiln_status_t status = checkOnDevice("input", spec, there, bytes))
    return status;
  device->giveInput(index, there);
  inputBytes[index] = bytes;
  // Shapes depend on values, but of which inputs is not said.
  if (!module.reads_inputs)
    return KILN_OK;
  if (!inputCopies[index].reserve(bytes))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory to copy input '%s'", spec.name);
  kiln_status_t status = KILN_OK;
  if (const void *values = device->fetch(there, bytes, status, error))
    std::memcpy(inputCopies[index].get(), values, bytes);
  inputData[index] = inputCopies[index].get();
  return status;
}

inline kiln_status_t Session::takeInput(uint32_t index, const DLTensor &tensor, uint64_t bytes,
                                        bool needData) {
  const kiln_module_tensor &spec = module.inputs[index];
  inputBytes[index] = 0;
  if (bytes == 0) {
    inputData[index] = kNothing;
    return KILN_OK;
  }
  if (!tensor.data) {
    inputData[index] = nullptr;
    return needData ? error.fail(KILN_INVALID_ARGUMENT, "input '%s': data is NULL", spec.name)
                    : KILN_OK;
  }
  if (!isHost(tensor)) [[unlikely]]
    return takeDeviceInput(index, tensor, bytes, needData);
  uint64_t alignment = elementBytes(spec.dtype);
  bool aligned = (uintptr_t(dataOf(tensor)) & (alignment - 1)) == 0;
  if (!aligned || !isDense(tensor)) [[unlikely]]
    return stageInput(index, tensor, bytes);
  inputData[index] = dataOf(tensor);
  inputBytes[index] = bytes;
  return KILN_OK;
}

kiln_status_t Session::bindInputs(bool needData, bool &haveData) {
  for (uint32_t i = 0; i != module.num_input_symbols; ++i)
    symbols[i] = kUnbound;
  haveData = true;
  for (uint32_t i = 0; i != module.num_inputs; ++i) {
    const DLTensor *tensor = i < numCallInputs ? callInputs[i] : nullptr;
    const kiln_module_tensor &spec = module.inputs[i];
    if (!tensor) {
      if (!(spec.flags & KILN_MODULE_TENSOR_OPTIONAL))
        return error.fail(KILN_INVALID_ARGUMENT, "input '%s' is missing (input %u of %u)",
                          spec.name, i + 1, module.num_inputs);
      inputData[i] = module.weights + spec.default_offset;
      inputBytes[i] = 0;
      continue;
    }
    uint64_t bytes;
    if (kiln_status_t status = bindInput(module, i, *tensor, place, symbols.get(), bytes, error))
        [[unlikely]]
      return status;
    if (kiln_status_t status = takeInput(i, *tensor, bytes, needData)) [[unlikely]]
      return status;
    haveData &= inputData[i] != nullptr;
  }
  return checkAllBound(module, symbols.get(), error);
}

kiln_status_t Session::stageInput(uint32_t index, const DLTensor &tensor, uint64_t bytes) {
  const kiln_module_tensor &spec = module.inputs[index];
  if (!inputCopies[index].reserve(bytes))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory to copy input '%s'", spec.name);
  gather(tensor, elementBytes(spec.dtype), inputCopies[index].get());
  inputData[index] = inputCopies[index].get();
  inputBytes[index] = 0;
  return KILN_OK;
}

kiln_status_t Session::separateInputs(const uint8_t *memory, uint64_t bytes) {
  uintptr_t begin = uintptr_t(memory), end = begin + bytes;
  for (uint32_t i = 0; i != module.num_inputs; ++i) {
    const void *there = device ? device->givenInput(i) : nullptr;
    uintptr_t input = uintptr_t(there ? there : inputData[i]);
    // Zero bytes: a copy already, a default or nothing at all.
    if (!inputBytes[i] || input >= end || begin >= input + inputBytes[i]) [[likely]]
      continue;
    if (kiln_status_t status = there ? device->copyInput(i, inputBytes[i], error)
                                     : stageInput(i, *callInputs[i], inputBytes[i]))
      return status;
  }
  return KILN_OK;
}

} // namespace kiln::rt
