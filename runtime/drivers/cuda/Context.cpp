//===- Context.cpp - A device, and calls of its driver --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Context.h"

namespace kiln::cuda {

void Context::close() {
  if (handle)
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

int Context::attribute(CUdevice_attribute which) const {
  int value = 0;
  driver.cuDeviceGetAttribute(&value, which, device);
  return value;
}

kiln_status_t Context::open(const char *library, int wanted, const char *called,
                            rt::ErrorText &error) {
  ordinal = wanted;
  name = {};
  name.append("%s", called);
  bool isSymbol;
  if (const char *problem = loadDriverTable(driver, library, &isSymbol))
    return isSymbol
               ? error.fail(KILN_UNSUPPORTED,
                            "the CUDA driver is too old: it has no %s (525 or newer has)", problem)
               : error.fail(KILN_UNSUPPORTED, "no CUDA driver: %s", problem);
  if (CUresult result = driver.cuInit(0)) {
    const char *text = nullptr;
    driver.cuGetErrorString(result, &text);
    return error.fail(KILN_UNSUPPORTED, "the CUDA driver does not start: %s",
                      text ? text : "unknown error");
  }
  int count = 0;
  driver.cuDeviceGetCount(&count);
  if (wanted >= count)
    return error.fail(KILN_UNSUPPORTED, "there is no device cuda:%d: the driver shows %d%s", wanted,
                      count, count ? "" : " (CUDA_VISIBLE_DEVICES may hide them)");
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
