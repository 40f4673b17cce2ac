//===- CudaModel.h - A model's code and weights on a GPU ------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDA_CUDAMODEL_H
#define KILN_RUNTIME_DRIVERS_CUDA_CUDAMODEL_H

#include "Context.h"
#include "Device.h"
#include "DevicePool.h"

namespace kiln::cuda {

/// One kernel, loaded.
struct LoadedKernel {
  const kiln_module_image *image = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  /// Blocks that run at once on the whole device: as many as have scratch memory.
  uint32_t residentBlocks = 0;
};

class CudaModel final : public rt::DeviceModel {
public:
  explicit CudaModel(const kiln_module_device &module) : module(module) {}

  static kiln_status_t create(const kiln_module_device &module, const char *device,
                              rt::DeviceModel **model, rt::ErrorText &error);
  static bool accepts(const char *device);

  kiln_status_t open(void *stream, rt::DeviceQueue **queue, rt::ErrorText &error) override;
  const char *name() override { return text.get(); }
  const char *choice() override { return why.get(); }
  DLDevice place() override { return {kDLCUDA, context().ordinal}; }
  bool isLost() override { return context().isLost(); }
  bool isForked() override { return context().isForked(); }
  void destroy() override { rt::destroyObject(this); }
  ~CudaModel();

  const Context &context() const { return pool->context; }

  const kiln_module_device &module;
  DevicePool *pool = nullptr;
  uint8_t *weights = nullptr;
  rt::Array<LoadedKernel> kernels;

private:
  kiln_status_t setUp(const char *device, rt::ErrorText &error);
  kiln_status_t openContext(const char *device, rt::ErrorText &error);
  kiln_status_t loadKernels(rt::ErrorText &error);
  kiln_status_t loadKernel(uint32_t index, const kiln_module_image &image, rt::ErrorText &error);
  /// The image of a kernel that this device takes; null when there is none.
  const kiln_module_image *imageOf(uint32_t kernel) const;
  kiln_status_t uploadWeights(rt::ErrorText &error);

  bool isSimulator = false;
  rt::TextBuilder text, why;
};

} // namespace kiln::cuda

#endif // KILN_RUNTIME_DRIVERS_CUDA_CUDAMODEL_H
