//===- Model.h - The immutable half: specs, checks, counts --- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_MODEL_H
#define KILN_RUNTIME_CORE_MODEL_H

#include "Device.h"
#include "ForkGuard.h"
#include "Integrity.h"
#include "Metrics.h"
#include "Support.h"
#include "kiln-c/ModuleABI.h"
#include "kiln-c/Runtime.h"

namespace kiln::rt {

/// Refuses a table that this runtime or this CPU cannot run, or whose parts do
/// not fit together.
kiln_status_t checkModule(const kiln_module &module, ErrorText &error);

/// Compares the checksum of every weight.
kiln_status_t checkWeights(const kiln_module &module, ErrorText &error);

class Model : public kiln_model {
public:
  /// `api` is the table that handles carry.
  static kiln_status_t open(const kiln_api &api, const kiln_module &module,
                            const kiln_model_options *options, kiln_model **model);

  explicit Model(const kiln_api &api, const kiln_module &module) : module(module) {
    this->api = &api;
  }
  ~Model();

  static Model &of(kiln_model *model) { return *static_cast<Model *>(model); }
  static const Model &of(const kiln_model *model) { return *static_cast<const Model *>(model); }

  kiln_status_t close();
  void fillInfo(kiln_model_info &info) const;
  const kiln_tensor_spec *input(uint32_t index) const {
    return index < inputs.size() ? &inputs[index] : nullptr;
  }
  const kiln_tensor_spec *output(uint32_t index) const {
    return index < outputs.size() ? &outputs[index] : nullptr;
  }

  /// The model on a device, opened at its first use; null: the default one. Each
  /// user closes it again; one that is lost goes with its last user, so that a
  /// later one may find the device in order again.
  kiln_status_t openDevice(const char *name, DeviceModel *&device, ErrorText &error);
  void closeDevice(DeviceModel *device);
  /// Tells the host that a device has failed; `status`: what a run says of it.
  void noteDeviceFailure(const char *device, kiln_status_t status, const char *text);

  kiln_status_t check(uint64_t bytes);
  void fillIntegrity(kiln_integrity_stats &stats) const;

  void setError(const ErrorText &text);
  size_t copyError(char *text, size_t size);

  const kiln_module &module;
  /// Sessions notice a fork by it.
  ForkGuard guard;
  std::atomic<uint32_t> sessions{0};
  /// Of sessions that were not given one.
  kiln_pool *pool = nullptr;
  /// Null: nothing is watched.
  Integrity *integrity = nullptr;
  Metrics metrics;

private:
  kiln_status_t setUp(const kiln_model_options &options, ErrorText &error);
  bool makeSpecs();

  Array<kiln_tensor_spec> inputs;
  Array<kiln_tensor_spec> outputs;
  Array<kiln_dim_spec> dims;

  struct OpenDevice {
    DeviceModel *model = nullptr;
    uint32_t users = 0;
    /// For whoever names none.
    bool isDefault = false;
  };
  OpenDevice *findDevice(const char *name);
  static void dropIfLost(OpenDevice &device);

  static constexpr uint32_t kMostDevices = 16;
  PatientLock deviceLock;
  OpenDevice devices[kMostDevices];
  kiln_event_fn onEvent = nullptr;
  void *onEventUser = nullptr;
  PatientLock errorLock;
  ErrorText error;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_MODEL_H
