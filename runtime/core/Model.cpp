//===- Model.cpp - The immutable half: specs, checks, counts --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Model.h"

#include "Cpu.h"
#include "Crc32c.h"
#include "Pool.h"
#include "Tensors.h"

#include <algorithm>
#include <cstring>

namespace kiln::rt {

static constexpr uint32_t kMaxRank = 64;

/// The stand-in of an optional input has static dims and lies in the weights.
static bool hasDefault(const kiln_module &module, const kiln_module_tensor &tensor) {
  int64_t sizes[kMaxRank];
  for (uint32_t axis = 0; axis != tensor.rank; ++axis)
    sizes[axis] = tensor.dims[axis].size;
  uint64_t bytes;
  return denseBytes(sizes, tensor.rank, tensor.dtype, bytes) && bytes <= module.weights_size &&
         tensor.default_offset <= module.weights_size - bytes;
}

static kiln_status_t checkTensors(const kiln_module &module, bool isInput, ErrorText &error) {
  const kiln_module_tensor *tensors = isInput ? module.inputs : module.outputs;
  uint32_t count = isInput ? module.num_inputs : module.num_outputs;
  const char *kind = isInput ? "input" : "output";
  for (uint32_t i = 0; i != count; ++i) {
    const kiln_module_tensor &tensor = tensors[i];
    if (!tensor.name || tensor.rank > kMaxRank || (tensor.rank && !tensor.dims) ||
        tensor.dtype.bits == 0 || (tensor.dtype.bits > 8 && tensor.dtype.bits % 8) ||
        tensor.dtype.lanes != 1)
      return error.fail(KILN_CORRUPT, "%s %u of the module table makes no sense", kind, i);
    for (uint32_t axis = 0; axis != tensor.rank; ++axis) {
      const kiln_module_dim &dim = tensor.dims[axis];
      bool named = dim.symbol >= 0 && uint32_t(dim.symbol) < module.num_symbols;
      // The runtime evaluates no expression: an input's dim is a number or a
      // symbol that it may bind.
      bool known = dim.size >= 0
                       ? dim.symbol < 0
                       : !isInput || (named && uint32_t(dim.symbol) < module.num_input_symbols);
      if (!known || !dim.text)
        return error.fail(KILN_CORRUPT, "%s '%s' axis %u of the module table makes no sense", kind,
                          tensor.name, axis);
    }
    if (isInput && (tensor.flags & KILN_MODULE_TENSOR_OPTIONAL) && !hasDefault(module, tensor))
      return error.fail(KILN_CORRUPT, "the default of input '%s' lies outside the weights",
                        tensor.name);
  }
  return KILN_OK;
}

kiln_status_t checkModule(const kiln_module &module, ErrorText &error) {
  if (module.magic != KILN_MODULE_MAGIC)
    return error.fail(KILN_CORRUPT, "the module table has no magic number");
  if (module.abi_major != KILN_MODULE_ABI_MAJOR)
    return error.fail(KILN_ABI_MISMATCH, "module ABI %u.%u, this runtime speaks %u.%u",
                      module.abi_major, module.abi_minor, KILN_MODULE_ABI_MAJOR,
                      KILN_MODULE_ABI_MINOR);
  bool countsFit = module.struct_size >= sizeof(kiln_module) &&
                   module.num_input_symbols <= module.num_bound_symbols &&
                   module.num_bound_symbols <= module.num_symbols;
  bool pointersFit =
      module.name && module.bind && module.sizes && module.output_dims && module.run &&
      (module.inputs || !module.num_inputs) && (module.outputs || !module.num_outputs) &&
      (module.symbols || !module.num_symbols) && (module.buffers || !module.num_buffers) &&
      (module.weight_table || !module.num_weights) &&
      (module.constraints || !module.num_constraints) && (module.weights || !module.weights_size);
  if (!countsFit || !pointersFit)
    return error.fail(KILN_CORRUPT, "the parts of the module table do not fit together");
  for (uint32_t i = 0; module.batch_axes && i != module.num_inputs + module.num_outputs; ++i) {
    bool isInput = i < module.num_inputs;
    const kiln_module_tensor &tensor =
        isInput ? module.inputs[i] : module.outputs[i - module.num_inputs];
    if (module.batch_axes[i] < -1 || module.batch_axes[i] >= int64_t(tensor.rank))
      return error.fail(KILN_CORRUPT, "the batch axis of '%s' is none of its axes", tensor.name);
  }
  if (uintptr_t(module.weights) % KILN_MODULE_ALIGNMENT)
    return error.fail(KILN_CORRUPT, "the weights are not aligned");
  for (bool isInput : {true, false})
    if (kiln_status_t status = checkTensors(module, isInput, error))
      return status;
  for (uint32_t i = 0; i != module.num_weights; ++i) {
    const kiln_module_weight &weight = module.weight_table[i];
    if (weight.offset > module.weights_size || weight.size > module.weights_size - weight.offset)
      return error.fail(KILN_CORRUPT, "weight '%s' lies outside the weights", weight.name);
  }
  char missing[64];
  if (findMissingFeature(module.features, missing, sizeof missing))
    return error.fail(KILN_CPU_UNSUPPORTED,
                      "built for %s, but this CPU has no %s; compile with another --cpu",
                      module.target ? module.target : "another CPU", missing);
  return KILN_OK;
}

/// The plan's own table is checked as the CPU's is.
static kiln_status_t checkDevice(const kiln_module_device &device, ErrorText &error) {
  if (!device.plan || (!device.kernels && device.num_kernels) ||
      (!device.images && device.num_images))
    return error.fail(KILN_CORRUPT, "the parts of the device's table do not fit together");
  for (uint32_t i = 0; i != device.num_kernels; ++i)
    if (!device.kernels[i].name)
      return error.fail(KILN_CORRUPT, "kernel %u of the device's table has no name", i);
  for (uint32_t i = 0; i != device.num_images; ++i) {
    const kiln_module_image &image = device.images[i];
    constexpr uint32_t mostThreads = 1024, mostShared = 1u << 20;
    bool isSound = image.arch && image.bytes && image.kind <= KILN_MODULE_IMAGE_SIM &&
                   image.kernel < device.num_kernels && image.threads >= 1 &&
                   image.threads <= mostThreads && image.shared_bytes <= mostShared &&
                   image.uses_scratch <= 1 && !image.reserved;
    // Blocks of one dimension share the extent; others come from a grid of the launch.
    if (!isSound || (image.grid ? image.grid > device.kernels[image.kernel].num_grids
                                : image.units_per_block == 0))
      return error.fail(KILN_CORRUPT, "image %u of the device's table makes no sense", i);
  }
  return KILN_OK;
}

kiln_status_t checkWeights(const kiln_module &module, ErrorText &error) {
  Crc32c crc32c;
  for (uint32_t i = 0; i != module.num_weights; ++i) {
    const kiln_module_weight &weight = module.weight_table[i];
    uint32_t found = crc32c(module.weights + weight.offset, weight.size);
    if (found != weight.crc32c)
      return error.fail(KILN_CORRUPT, "weight '%s' is damaged: checksum %08x, expected %08x",
                        weight.name, found, weight.crc32c);
  }
  return KILN_OK;
}

kiln_status_t Model::open(const kiln_api &api, const kiln_module &module,
                          const kiln_model_options *given, kiln_model **model) {
  if (!model)
    return KILN_INVALID_ARGUMENT;
  *model = nullptr;
  kiln_model_options options;
  if (!readOptions(&options, sizeof options, given))
    return KILN_INVALID_ARGUMENT;
  ErrorText error;
  kiln_status_t status = KILN_OK;
  if (options.flags & ~uint32_t(KILN_MODEL_VERIFY_WEIGHTS))
    status = error.fail(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x%x", options.flags);
  if (status == KILN_OK)
    status = checkModule(module, error);
  if (status == KILN_OK && (options.flags & KILN_MODEL_VERIFY_WEIGHTS))
    status = checkWeights(module, error);
  if (status == KILN_OK) {
    auto *made = createObject<Model>(api, module);
    status = made ? made->setUp(options, error)
                  : error.fail(KILN_OUT_OF_MEMORY, "no memory for a model");
    if (status == KILN_OK)
      *model = made;
    else if (made)
      destroyObject(made);
  }
  error.copyTo(options.error, options.error_size);
  return status;
}

kiln_status_t Model::setUp(const kiln_model_options &options, ErrorText &error) {
  kiln_pool_options poolOptions = {};
  poolOptions.struct_size = sizeof poolOptions;
  poolOptions.on_event = options.on_event;
  poolOptions.on_event_user = options.on_event_user;
  onEvent = options.on_event;
  onEventUser = options.on_event_user;
  if (!guard.create() || !makeSpecs() || Pool::create(&poolOptions, &pool) != KILN_OK)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a model");
  if (!options.integrity)
    return KILN_OK;
  kiln_integrity_options watch;
  if (!readOptions(&watch, sizeof watch, options.integrity))
    return error.fail(KILN_INVALID_ARGUMENT, "struct_size of the integrity options is wrong");
  integrity = createObject<Integrity>(module);
  if (!integrity)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a model");
  return integrity->create(watch, options.on_event, options.on_event_user, error);
}

void Model::dropIfLost(OpenDevice &device) {
  if (!device.model || device.users || !device.model->isLost())
    return;
  if (integrity)
    integrity->detach(*device.model);
  device.model->destroy();
  device = {};
}

Model::OpenDevice *Model::findDevice(const char *name) {
  for (OpenDevice &device : devices) {
    dropIfLost(device);
    if (device.model && (name ? std::strcmp(device.model->name(), name) == 0 : device.isDefault) &&
        !device.model->isLost())
      return &device;
  }
  return nullptr;
}

kiln_status_t Model::openDevice(const char *name, DeviceModel *&device, ErrorText &error) {
  {
    PatientLock::Hold hold(deviceLock);
    for (OpenDevice &open : devices)
      if (open.model && open.model->isForked())
        return failForFork(open.model->name(), error);
    if (OpenDevice *found = findDevice(name)) {
      ++found->users;
      device = found->model;
      return KILN_OK;
    }
  }
  // Takes long: without the lock, and whoever comes second gives his own back.
  if (kiln_status_t status = checkDevice(*module.device, error))
    return status;
  if (kiln_status_t status = checkModule(*module.device->plan, error))
    return status;
  auto *driver = static_cast<const DeviceDriver *>(module.device->driver);
  DeviceModel *opened;
  if (kiln_status_t status = driver->open(*module.device, name, &opened, error))
    return status;
  OpenDevice *place;
  bool isNew = false;
  {
    PatientLock::Hold hold(deviceLock);
    place = findDevice(opened->name());
    if (!place) {
      place = std::find_if(devices, devices + kMostDevices,
                           [](const OpenDevice &open) { return !open.model; });
      if (place == devices + kMostDevices)
        place = nullptr;
      else
        place->model = std::exchange(opened, nullptr), isNew = true;
    }
    if (place) {
      ++place->users;
      place->isDefault |= !name;
      device = place->model;
    }
  }
  if (opened)
    opened->destroy();
  if (isNew && integrity)
    integrity->attach(*device);
  return place ? KILN_OK
               : error.fail(KILN_UNSUPPORTED, "a model can be open on %u devices at once",
                            kMostDevices);
}

void Model::closeDevice(DeviceModel *model) {
  PatientLock::Hold hold(deviceLock);
  for (OpenDevice &device : devices)
    if (device.model == model) {
      --device.users;
      dropIfLost(device);
    }
}

void Model::noteDeviceFailure(const char *device, kiln_status_t status, const char *text) {
  if (!onEvent)
    return;
  kiln_event event = {sizeof event, KILN_EVENT_DEVICE_FAILED, status, device, text, 0};
  onEvent(onEventUser, &event);
}

Model::~Model() {
  // It looks at devices, too.
  if (integrity)
    destroyObject(integrity);
  for (OpenDevice &device : devices)
    if (device.model)
      device.model->destroy();
  if (pool)
    pool->api->drop(pool);
}

kiln_status_t Model::check(uint64_t bytes) {
  ErrorText reason;
  kiln_status_t status =
      integrity ? integrity->check(bytes, reason)
                : reason.fail(KILN_INVALID_ARGUMENT, "opened without integrity options");
  if (status != KILN_OK)
    setError(reason);
  return status;
}

void Model::fillIntegrity(kiln_integrity_stats &stats) const {
  size_t size = std::min(stats.struct_size, sizeof stats);
  std::memset(&stats, 0, size);
  stats.struct_size = size;
  if (integrity)
    integrity->fillStats(stats);
}

kiln_status_t Model::close() {
  if (sessions.load(std::memory_order_acquire))
    return KILN_BUSY;
  destroyObject(this);
  return KILN_OK;
}

bool Model::makeSpecs() {
  size_t numDims = 0;
  for (uint32_t i = 0; i != module.num_inputs; ++i)
    numDims += module.inputs[i].rank;
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    numDims += module.outputs[i].rank;
  if (!inputs.allocate(module.num_inputs) || !outputs.allocate(module.num_outputs) ||
      !dims.allocate(numDims))
    return false;
  kiln_dim_spec *nextDim = dims.begin();
  auto fill = [&](const kiln_module_tensor &from, kiln_tensor_spec &to, uint32_t index) {
    to.struct_size = sizeof to;
    to.name = from.name;
    to.dtype = {from.dtype.code, from.dtype.bits, from.dtype.lanes};
    to.rank = from.rank;
    to.dims = nextDim;
    if (from.flags & KILN_MODULE_TENSOR_OPTIONAL)
      to.flags |= KILN_TENSOR_OPTIONAL;
    if (from.flags & KILN_MODULE_TENSOR_LATE)
      to.flags |= KILN_TENSOR_LATE;
    to.batch_axis = module.batch_axes ? module.batch_axes[index] : -1;
    for (uint32_t axis = 0; axis != from.rank; ++axis) {
      const kiln_module_dim &dim = from.dims[axis];
      const kiln_module_symbol *symbol = dim.symbol >= 0 ? &module.symbols[dim.symbol] : nullptr;
      kiln_dim_spec &spec = *nextDim++;
      spec.size = dim.size;
      spec.lo = symbol ? symbol->lo : std::max<int64_t>(dim.size, 0);
      spec.hi = symbol ? symbol->hi : dim.size >= 0 ? dim.size : INT64_MAX;
      spec.text = dim.text;
      spec.symbol = symbol ? symbol->name : nullptr;
    }
  };
  for (uint32_t i = 0; i != module.num_inputs; ++i)
    fill(module.inputs[i], inputs[i], i);
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    fill(module.outputs[i], outputs[i], module.num_inputs + i);
  return true;
}

void Model::fillInfo(kiln_model_info &out) const {
  kiln_model_info info = {};
  info.struct_size = std::min(out.struct_size, sizeof info);
  auto orEmpty = [](const char *text) { return text ? text : ""; };
  info.name = module.name;
  info.producer = orEmpty(module.producer);
  info.target = orEmpty(module.target);
  info.features = orEmpty(module.features);
  info.devices = module.device ? "cpu,cuda" : "cpu";
  info.batch = module.batch_symbol;
  std::memcpy(info.digest, module.digest, sizeof info.digest);
  info.abi = KILN_ABI_VERSION;
  info.module_abi = uint32_t(module.abi_major) << 16 | module.abi_minor;
  info.num_inputs = module.num_inputs;
  info.num_outputs = module.num_outputs;
  info.num_launches = module.num_launches;
  info.num_weights = module.num_weights;
  info.weights_size = module.weights_size;
  info.separable = module.batch_axes != nullptr;
  info.batch_obstacle = module.batch_obstacle;
  info.manifest = orEmpty(module.manifest);
  info.manifest_size = module.manifest_size;
  std::memcpy(&out, &info, info.struct_size);
}

void Model::setError(const ErrorText &text) {
  PatientLock::Hold hold(errorLock);
  error = text;
}

size_t Model::copyError(char *text, size_t size) {
  PatientLock::Hold hold(errorLock);
  return error.copyTo(text, size);
}

} // namespace kiln::rt
