//===- HostTensor.cpp - Tensors of the command line -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostTensor.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace kiln::run {

Failure HostTensor::allocate() {
  constexpr uint64_t limit = uint64_t(1) << 46;
  uint64_t size = elementBytes();
  for (int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(size, uint64_t(dim), &size) || size > limit)
      return {ExitSystem,
              "a tensor of shape " + shapeText(shape) + " is larger than memory can be"};
  // Without exceptions a vector that gets no memory ends the program: ask first.
  void *volatile probe = std::malloc(size ? size : 1); // volatile: the pair would be elided
  if (!probe)
    return {ExitSystem, "no memory for a tensor of shape " + shapeText(shape) + " (" +
                            std::to_string(size) + " bytes)"};
  std::free(probe);
  bytes.resize(size);
  return {};
}

DLTensor HostTensor::view() {
  DLTensor tensor = {};
  tensor.data = bytes.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = int32_t(shape.size());
  tensor.dtype = type;
  tensor.shape = shape.data();
  return tensor;
}

template <typename T> static T load(const uint8_t *bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

double HostTensor::valueAt(uint64_t index) const {
  const uint8_t *data = bytes.data();
  if (isSmallFloat(type))
    return smallToFloat(data[index], type);
  switch (type.code) {
  case kDLFloat:
    return type.bits == 64   ? load<double>(data, index)
           : type.bits == 32 ? double(load<float>(data, index))
                             : double(halfToFloat(load<uint16_t>(data, index)));
  case kDLBfloat:
    return bfloatToFloat(load<uint16_t>(data, index));
  case kDLInt:
    return type.bits == 64   ? double(load<int64_t>(data, index))
           : type.bits == 32 ? double(load<int32_t>(data, index))
           : type.bits == 16 ? double(load<int16_t>(data, index))
                             : double(load<int8_t>(data, index));
  default:
    return type.bits == 64   ? double(load<uint64_t>(data, index))
           : type.bits == 32 ? double(load<uint32_t>(data, index))
           : type.bits == 16 ? double(load<uint16_t>(data, index))
                             : double(load<uint8_t>(data, index));
  }
}

std::string typeName(DLDataType type) {
  switch (type.code) {
  case kDLInt:
    return "int" + std::to_string(type.bits);
  case kDLUInt:
    return "uint" + std::to_string(type.bits);
  case kDLFloat:
    return "float" + std::to_string(type.bits);
  case kDLBfloat:
    return "bfloat" + std::to_string(type.bits);
  case kDLBool:
    return "bool";
  case kDLFloat8_e4m3fn:
    return "float8_e4m3fn";
  case kDLFloat8_e4m3fnuz:
    return "float8_e4m3fnuz";
  case kDLFloat8_e5m2:
    return "float8_e5m2";
  case kDLFloat8_e5m2fnuz:
    return "float8_e5m2fnuz";
  case kDLFloat6_e2m3fn:
    return "float6_e2m3fn";
  case kDLFloat6_e3m2fn:
    return "float6_e3m2fn";
  case kDLFloat4_e2m1fn:
    return "float4_e2m1fn";
  default:
    return "type " + std::to_string(type.code) + " of " + std::to_string(type.bits) + " bits";
  }
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i != shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string specText(const kiln_tensor_spec &spec) {
  std::string text = "[";
  for (uint32_t i = 0; i != spec.rank; ++i)
    text += std::string(i ? ", " : "") + spec.dims[i].text;
  return text + "]";
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = std::ldexp(float(fraction), -24);
  return sign ? -magnitude : magnitude;
}

float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float smallToFloat(uint8_t bits, DLDataType type) {
  struct Format {
    uint8_t code;
    int width, mantissa, bias;
    int infinity, nan; // without the sign; -1 where there is none
  };
  // The types without -0 have NaN in its place.
  constexpr Format formats[] = {
      {kDLFloat8_e4m3fn, 8, 3, 7, -1, 0x7f},  {kDLFloat8_e4m3fnuz, 8, 3, 8, -1, 0x80},
      {kDLFloat8_e5m2, 8, 2, 15, 0x7c, 0x7d}, {kDLFloat8_e5m2fnuz, 8, 2, 16, -1, 0x80},
      {kDLFloat6_e2m3fn, 6, 3, 1, -1, -1},    {kDLFloat6_e3m2fn, 6, 2, 3, -1, -1},
      {kDLFloat4_e2m1fn, 4, 1, 1, -1, -1},
  };
  for (const Format &format : formats) {
    if (format.code != type.code)
      continue;
    int sign = bits >> (format.width - 1) & 1, code = bits & ((1 << (format.width - 1)) - 1);
    if (format.nan == 0x80 ? bits == 0x80 : format.nan >= 0 && code >= format.nan)
      return NAN;
    int exponent = code >> format.mantissa, fraction = code & ((1 << format.mantissa) - 1);
    if (exponent)
      fraction |= 1 << format.mantissa;
    float magnitude = code == format.infinity
                          ? INFINITY
                          : std::ldexp(float(fraction),
                                       (exponent ? exponent : 1) - format.bias - format.mantissa);
    return sign ? -magnitude : magnitude;
  }
  return NAN;
}

void adoptType(HostTensor &tensor, DLDataType wanted) {
  DLDataType have = tensor.type;
  bool isPattern = wanted.code == kDLBfloat || isSmallFloat(wanted) || wanted.code == kDLUInt;
  if ((wanted.code == kDLBfloat || wanted.bits < 8 || isSmallFloat(wanted)) &&
      have.code == (isPattern ? kDLUInt : kDLInt) && have.bits == (wanted.bits + 7) / 8 * 8)
    tensor.type = wanted;
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520.0f)
    return sign | 0x7c00;
  // Below the least normal number a step is 2^-24, above it 2^-10 of the power.
  int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
  auto steps = uint32_t(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // The carry of a fraction that rounds up goes into the exponent by itself.
  uint32_t base = magnitude < 0x1p-14f ? 0 : uint32_t(exponent + 14) << 10;
  return uint16_t(sign | (base + steps));
}

uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// SplitMix64: a counter through a mixer, so any element could be had alone.
static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

template <typename T> static void store(HostTensor &tensor, uint64_t index, T value) {
  std::memcpy(tensor.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

void fillRandom(HostTensor &tensor, uint64_t seed) {
  uint64_t state = mix(seed);
  for (uint64_t i = 0, n = tensor.numElements(); i != n; ++i) {
    uint64_t bits = mix(state + i);
    double unit = double(bits >> 11) * 0x1p-52 - 1.0;
    if (tensor.type.code == kDLBfloat)
      store(tensor, i, floatToBfloat(float(unit)));
    else if (tensor.type.code == kDLFloat && tensor.type.bits == 64)
      store(tensor, i, unit);
    else if (tensor.type.code == kDLFloat && tensor.type.bits == 32)
      // The nearest float of a double just below 1 is 1.
      store(tensor, i, float(double(bits >> 40) * 0x1p-23 - 1.0));
    else if (tensor.type.code == kDLFloat)
      store(tensor, i, floatToHalf(float(unit)));
    else if (tensor.type.code == kDLUInt && tensor.type.bits == 8)
      store(tensor, i, uint8_t(bits >> 56));
    else if (isSmallFloat(tensor.type))
      // 0 or the least normal number and up: never NaN.
      store(tensor, i, uint8_t(bits >> 61 << (tensor.type.bits > 4)));
    else
      // Little-endian: the lowest byte is the value, the others are 0.
      tensor.bytes[i * tensor.elementBytes()] = uint8_t(bits >> 63);
  }
}

} // namespace kiln::run
