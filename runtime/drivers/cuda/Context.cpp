//===- Context.cpp - A device, and calls of its driver --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Context.h"

namespace kiln::cuda {

void Context::close() {
  if (handle && !isForked())
    driver.cuDevicePrimaryCtxRelease(device);
  handle = nullptr;
}

kiln_status_t Context::fail(CUresult result, const char *what, rt::ErrorText &error) const {
  const char *symbol = nullptr, *text = nullptr;
  driver.cuGetErrorName(result, &symbol);
  driver.cuGetErrorString(result, &text);
  kiln_status_t status =
      result == CUDA_ERROR_OUT_OF_MEMORY ? KILN_OUT_OF_MEMORY
      : result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE
          ? KILN_UNSUPPORTED
          : KILN_DEVICE_FAILED;
  return error.fail(status, "%s: %s: %s (%s)", name.get(), what, text ? text : "unknown error",
                    symbol ? symbol : "?");
}

bool Context::isLost() const {
  if (isForked())
    return true;
  Use use(*this);
  // Every call gives an error that stays; this one waits for nothing.
  size_t free, total;
  return driver.cuMemGetInfo(&free, &total) != CUDA_SUCCESS;
}

int Context::attribute(CUdevice_attribute which) const {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, which, device);
  return value;
}

kiln_status_t Context::open(const char *library, int wanted, const char *called,
                            rt::ErrorText &error) {
  ordinal = wanted;
  if (!born && !guard.create())
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a device");
  born = guard.generation();
  name = {};
  name.append("%s", called);
  bool isSymbol;
  if (const char *problem = loadDriverTable(driver, library, &isSymbol))
    return isSymbol
               ? error.fail(KILN_UNSUPPORTED,
                            "the CUDA driver is too old: it has no %s (525 or newer has)", problem)
               : error.fail(KILN_UNSUPPORTED, "no CUDA driver: %s", problem);
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  rt::TextBuilder hidden;
  if (visible)
    hidden.append("; CUDA_VISIBLE_DEVICES is '%s'", visible);
  if (CUresult result = driver.cuInit(0)) {
    if (result == CUDA_ERROR_NO_DEVICE)
      return error.fail(KILN_UNSUPPORTED, "the CUDA driver shows no device%s", hidden.get());
    const char *text = nullptr;
    driver.cuGetErrorString(result, &text);
    return error.fail(KILN_UNSUPPORTED, "the CUDA driver does not start: %s",
                      text ? text : "unknown error");
  }
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (wanted >= count)
    return error.fail(KILN_UNSUPPORTED, "there is no device %s: the CUDA driver shows %d%s", called,
                      count, hidden.get());
  if (CUresult result = driver.cuDeviceGet(&device, wanted))
    return fail(result, "cuDeviceGet", error);
  if (CUresult result = driver.cuDevicePrimaryCtxRetain(&handle, device))
    return fail(result, "cannot use the device", error);
  architecture = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  driver.cuDeviceGetName(deviceName, sizeof deviceName, device);
  return KILN_OK;
}

} // namespace kiln::cuda
