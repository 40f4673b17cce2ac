//===- NpyFile.cpp - NumPy's array files ----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorFiles.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace kiln::run {

Failure readFile(const std::string &path, std::string &contents) {
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return {ExitSystem, "cannot open '" + path + "': " + std::strerror(errno)};
  contents.clear();
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, file))
    contents.append(buffer, got);
  bool failed = std::ferror(file);
  int reason = errno;
  std::fclose(file);
  if (failed)
    return {ExitSystem, "cannot read '" + path + "': " + std::strerror(reason)};
  return {};
}

Failure writeFile(const std::string &path, std::string_view contents) {
  FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return {ExitSystem, "cannot write '" + path + "': " + std::strerror(errno)};
  bool written = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  if (std::fclose(file) != 0 || !written)
    return {ExitSystem, "cannot write '" + path + "': " + std::strerror(errno)};
  return {};
}

Failure readTensor(const std::string &path, HostTensor &tensor) {
  bool npy = path.ends_with(".npy");
  if (!npy && !path.ends_with(".pb"))
    return {ExitUsage, "'" + path + "': expected a .npy or .pb file"};
  std::string contents;
  if (Failure failure = readFile(path, contents))
    return failure;
  Failure failure = npy ? parseNpy(contents, tensor) : parseTensorProto(contents, tensor);
  if (failure)
    failure.message = "'" + path + "': " + failure.message;
  return failure;
}

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// The text after `'key':` in the header's dictionary, without leading spaces.
std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos)
    return {};
  at = header.find(':', at);
  if (at == std::string_view::npos)
    return {};
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : header.substr(at);
}

bool parseType(std::string_view text, DLDataType &type) {
  // '<f4' or "|b1": byte order, kind, bytes.
  if (text.size() < 5 || (text[0] != '\'' && text[0] != '"') || text[1] == '>')
    return false;
  unsigned bytes = unsigned(text[3] - '0');
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return false;
  switch (text[2]) {
  case 'f':
    type = {kDLFloat, uint8_t(bytes * 8), 1};
    return bytes >= 2;
  case 'i':
    type = {kDLInt, uint8_t(bytes * 8), 1};
    return true;
  case 'u':
    type = {kDLUInt, uint8_t(bytes * 8), 1};
    return true;
  case 'b':
    type = {kDLBool, 8, 1};
    return bytes == 1;
  default:
    return false;
  }
}

bool parseShape(std::string_view text, std::vector<int64_t> &shape) {
  if (text.empty() || text[0] != '(')
    return false;
  shape.clear();
  for (size_t at = 1; at < text.size();) {
    char c = text[at];
    if (c == ')')
      return true;
    if (c == ' ' || c == ',' || c == 'L') {
      ++at;
      continue;
    }
    int64_t value = 0;
    size_t start = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - start < 18; ++at)
      value = value * 10 + (text[at] - '0');
    if (at == start)
      return false;
    shape.push_back(value);
  }
  return false;
}

/// Column-major to row-major.
void transpose(HostTensor &tensor) {
  auto source = tensor.bytes;
  uint64_t size = tensor.elementBytes();
  size_t rank = tensor.shape.size();
  std::vector<int64_t> index(rank, 0);
  for (uint64_t to = 0, n = tensor.numElements(); to != n; ++to) {
    uint64_t from = 0, stride = 1;
    for (size_t axis = 0; axis != rank; ++axis) {
      from += uint64_t(index[axis]) * stride;
      stride *= uint64_t(tensor.shape[axis]);
    }
    std::memcpy(tensor.bytes.data() + to * size, source.data() + from * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] != tensor.shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

} // namespace

Failure parseNpy(std::string_view npy, HostTensor &tensor) {
  if (npy.size() < 10 || npy.substr(0, kMagic.size()) != kMagic)
    return {ExitSystem, "not a .npy file"};
  auto byteAt = [&](size_t i) { return size_t(uint8_t(npy[i])); };
  bool longHeader = byteAt(6) >= 2;
  size_t start = longHeader ? 12 : 10;
  if (npy.size() < start)
    return {ExitSystem, "cut short"};
  size_t length = byteAt(8) | byteAt(9) << 8;
  if (longHeader)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (npy.size() - start < length)
    return {ExitSystem, "cut short"};
  std::string_view header = npy.substr(start, length);
  if (!parseType(valueOf(header, "descr"), tensor.type))
    return {ExitSystem, "an element type that is not supported: " + std::string(header)};
  if (!parseShape(valueOf(header, "shape"), tensor.shape))
    return {ExitSystem, "a header that makes no sense: " + std::string(header)};
  if (Failure failure = tensor.allocate())
    return failure;
  std::string_view data = npy.substr(start + length);
  if (data.size() < tensor.bytes.size())
    return {ExitSystem, "cut short: it has " + std::to_string(data.size()) + " bytes of data, " +
                            shapeText(tensor.shape) + " needs " +
                            std::to_string(tensor.bytes.size())};
  std::copy_n(data.begin(), tensor.bytes.size(), tensor.bytes.begin());
  if (valueOf(header, "fortran_order").starts_with("True"))
    transpose(tensor);
  return {};
}

std::string formatNpy(const HostTensor &tensor) {
  const char *kind = "V";
  switch (tensor.type.code) {
  case kDLFloat:
    kind = "f";
    break;
  case kDLInt:
    kind = "i";
    break;
  case kDLUInt:
  case kDLBfloat:
    kind = "u";
    break;
  case kDLBool:
    kind = "b";
    break;
  }
  if (isSmallFloat(tensor.type))
    kind = "u";
  std::string header = "{'descr': '";
  header += tensor.elementBytes() == 1 ? "|" : "<";
  header += kind + std::to_string(tensor.elementBytes()) + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : tensor.shape)
    header += std::to_string(dim) + ", ";
  header += "), }";
  constexpr size_t prefix = 10, alignment = 64;
  header.append(alignment - (prefix + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::string npy(kMagic);
  npy += '\x01';
  npy += '\x00';
  npy += char(header.size() & 0xff);
  npy += char(header.size() >> 8);
  npy += header;
  npy.append(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size());
  return npy;
}

} // namespace kiln::run
