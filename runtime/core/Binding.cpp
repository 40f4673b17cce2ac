//===- Binding.cpp - What an input's shape says about the symbols ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

namespace kiln::rt {
namespace {

[[gnu::cold, gnu::noinline]] kiln_status_t failType(const char *kind,
                                                    const kiln_module_tensor &spec,
                                                    const DLTensor &tensor, ErrorText &error) {
  TextBuilder expected, got;
  appendType(expected, spec.dtype.code, spec.dtype.bits, spec.dtype.lanes);
  appendType(got, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  return error.fail(KILN_INVALID_TYPE, "%s '%s': expected %s, got %s", kind, spec.name,
                    expected.get(), got.get());
}

[[gnu::cold, gnu::noinline]] kiln_status_t failRank(const char *kind,
                                                    const kiln_module_tensor &spec,
                                                    const DLTensor &tensor, ErrorText &error) {
  TextBuilder expected, got;
  appendShape(expected, spec);
  bool printable = tensor.ndim >= 0 && (tensor.shape || tensor.ndim == 0);
  if (printable)
    appendShape(got, tensor.shape, uint32_t(tensor.ndim));
  return error.fail(KILN_INVALID_SHAPE, "%s '%s': expected rank %u %s, got rank %d %s", kind,
                    spec.name, spec.rank, expected.get(), tensor.ndim, got.get());
}

[[gnu::cold, gnu::noinline]] kiln_status_t failDim(const kiln_module &module, uint32_t index,
                                                   uint32_t axis, int64_t got,
                                                   const int64_t *symbols, ErrorText &error) {
  const kiln_module_tensor &spec = module.inputs[index];
  const kiln_module_dim &dim = spec.dims[axis];
  if (dim.symbol < 0)
    return error.fail(KILN_INVALID_SHAPE, "input '%s' axis %u: expected %lld, got %lld", spec.name,
                      axis, static_cast<long long>(dim.size), static_cast<long long>(got));
  const kiln_module_symbol &symbol = module.symbols[dim.symbol];
  if (got < symbol.lo || got > symbol.hi) {
    TextBuilder range;
    if (symbol.hi == INT64_MAX)
      range.append("at least %lld", static_cast<long long>(symbol.lo));
    else
      range.append("%lld to %lld", static_cast<long long>(symbol.lo),
                   static_cast<long long>(symbol.hi));
    return error.fail(KILN_INVALID_SHAPE, "input '%s' axis %u: expected %s of %s, got %lld",
                      spec.name, axis, symbol.name, range.get(), static_cast<long long>(got));
  }
  // Another dim has the same symbol: the first one that does bound it.
  for (uint32_t i = 0; i <= index; ++i) {
    const kiln_module_tensor &other = module.inputs[i];
    for (uint32_t a = 0; a != other.rank; ++a)
      if (other.dims[a].symbol == dim.symbol && (i != index || a < axis))
        return error.fail(KILN_INVALID_SHAPE,
                          "input '%s' axis %u: expected %lld (%s, as in axis %u of input '%s'), "
                          "got %lld",
                          spec.name, axis, static_cast<long long>(symbols[dim.symbol]), symbol.name,
                          a, other.name, static_cast<long long>(got));
  }
  return error.fail(KILN_INVALID_SHAPE, "input '%s' axis %u: expected %lld (%s), got %lld",
                    spec.name, axis, static_cast<long long>(symbols[dim.symbol]), symbol.name,
                    static_cast<long long>(got));
}

[[gnu::cold, gnu::noinline]] kiln_status_t failPlace(const char *kind,
                                                     const kiln_module_tensor &spec,
                                                     const DLTensor &tensor, DLDevice place,
                                                     ErrorText &error) {
  int type = int(tensor.device.device_type);
  if (place.device_type == kDLCPU)
    return error.fail(KILN_UNSUPPORTED, "%s '%s': expected CPU memory, got device type %d", kind,
                      spec.name, type);
  return error.fail(KILN_UNSUPPORTED,
                    "%s '%s': expected CPU memory or that of device type %d, number %d, got device "
                    "type %d, number %d",
                    kind, spec.name, int(place.device_type), place.device_id, type,
                    tensor.device.device_id);
}

/// What is the same for inputs and outputs: type, rank, device.
inline kiln_status_t checkForm(const char *kind, const kiln_module_tensor &spec,
                               const DLTensor &tensor, DLDevice place, ErrorText &error) {
  if (!sameType(tensor.dtype, spec.dtype)) [[unlikely]]
    return failType(kind, spec, tensor, error);
  if (tensor.ndim != int32_t(spec.rank) || (!tensor.shape && spec.rank)) [[unlikely]]
    return failRank(kind, spec, tensor, error);
  if (!isHost(tensor) && (tensor.device.device_type != place.device_type ||
                          tensor.device.device_id != place.device_id)) [[unlikely]]
    return failPlace(kind, spec, tensor, place, error);
  return KILN_OK;
}

} // namespace

kiln_status_t bindInput(const kiln_module &module, uint32_t index, const DLTensor &tensor,
                        DLDevice place, int64_t *symbols, uint64_t &bytes, ErrorText &error) {
  const kiln_module_tensor &spec = module.inputs[index];
  if (kiln_status_t status = checkForm("input", spec, tensor, place, error)) [[unlikely]]
    return status;
  uint64_t product = elementBytes(spec.dtype);
  bool overflows = false;
  for (uint32_t axis = 0; axis != spec.rank; ++axis) {
    int64_t size = tensor.shape[axis];
    const kiln_module_dim &dim = spec.dims[axis];
    overflows |= __builtin_mul_overflow(product, uint64_t(size), &product);
    if (dim.symbol < 0) {
      if (size != dim.size) [[unlikely]]
        return failDim(module, index, axis, size, symbols, error);
      continue;
    }
    const kiln_module_symbol &symbol = module.symbols[dim.symbol];
    int64_t &bound = symbols[dim.symbol];
    if (size < symbol.lo || size > symbol.hi || size < 0 || (bound != kUnbound && bound != size))
        [[unlikely]]
      return failDim(module, index, axis, size, symbols, error);
    bound = size;
  }
  bytes = product;
  // An overflow before a zero does not count: ask with more care.
  if (overflows || product > kMaxBytes) [[unlikely]]
    if (!denseBytes(tensor.shape, spec.rank, spec.dtype, bytes))
      return error.fail(KILN_INVALID_SHAPE, "input '%s' is larger than memory can be", spec.name);
  return KILN_OK;
}

kiln_status_t checkAllBound(const kiln_module &module, const int64_t *symbols, ErrorText &error) {
  for (uint32_t i = 0; i != module.num_input_symbols; ++i)
    if (symbols[i] == kUnbound) [[unlikely]]
      return error.fail(KILN_INVALID_SHAPE,
                        "the size of '%s' is not known: every input that has it was left out",
                        module.symbols[i].name);
  return KILN_OK;
}

kiln_status_t checkOutput(const kiln_module &module, uint32_t index, const DLTensor &tensor,
                          DLDevice place, const int64_t *dims, ErrorText &error) {
  const kiln_module_tensor &spec = module.outputs[index];
  if (kiln_status_t status = checkForm("output", spec, tensor, place, error)) [[unlikely]]
    return status;
  for (uint32_t axis = 0; axis != spec.rank; ++axis) {
    bool late = spec.flags & KILN_MODULE_TENSOR_LATE;
    if (late ? tensor.shape[axis] < 0 : tensor.shape[axis] != dims[axis]) [[unlikely]]
      return error.fail(KILN_INVALID_SHAPE, "output '%s' axis %u: expected %lld (%s), got %lld",
                        spec.name, axis, static_cast<long long>(dims[axis]), spec.dims[axis].text,
                        static_cast<long long>(tensor.shape[axis]));
  }
  if (!isDense(tensor)) [[unlikely]]
    return error.fail(KILN_UNSUPPORTED,
                      "output '%s': its memory must be dense and row-major, its strides are not",
                      spec.name);
  return KILN_OK;
}

kiln_status_t reportFault(const kiln_module &module, int32_t code, const kiln_module_fault &fault,
                          ErrorText &error) {
  switch (code) {
  case KILN_MODULE_OK:
    return KILN_OK;
  case KILN_MODULE_CONSTRAINT:
    if (fault.constraint < module.num_constraints)
      return error.fail(KILN_CONSTRAINT, "%s: got %lld and %lld",
                        module.constraints[fault.constraint], static_cast<long long>(fault.left),
                        static_cast<long long>(fault.right));
    return error.fail(KILN_INTERNAL, "constraint %u of %u is not met", fault.constraint,
                      module.num_constraints);
  case KILN_MODULE_OUT_OF_MEMORY:
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a tensor whose size the run decides");
  default:
    return error.fail(KILN_INTERNAL, "generated code returned %d", code);
  }
}

} // namespace kiln::rt
