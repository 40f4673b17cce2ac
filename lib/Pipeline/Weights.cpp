//===- Weights.cpp - The bytes of the weights section ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "kiln/Reference/TensorData.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kiln;

/// The segment's bytes: the constant's own, or packed by the op that reads it.
static void setBytes(WeightSegment &segment, const TensorData &data, StringRef layout,
                     const KernelTable &kernels) {
  if (layout.empty()) {
    segment.size = static_cast<uint64_t>(data.byteSize());
    auto keep = std::make_shared<TensorData>(data);
    segment.data = ArrayRef(reinterpret_cast<const uint8_t *>(keep->bytes()), segment.size);
    segment.owner = keep;
    return;
  }
  auto [op, name] = layout.split(':');
  auto packed = std::make_shared<SmallVector<char, 0>>(
      kernels.find(op)->pack(name, data.type(), data.bytes()));
  segment.size = packed->size();
  segment.data = ArrayRef(reinterpret_cast<const uint8_t *>(packed->data()), packed->size());
  segment.owner = packed;
}

/// Of a weight that is packed in two ways, the second one is "name#2".
static std::string uniqueName(StringRef wanted, size_t number, llvm::StringSet<> &names) {
  std::string base = wanted.empty() ? "w" + std::to_string(number) : wanted.str(), name = base;
  for (unsigned use = 2; !names.insert(name).second; ++use)
    name = base + "#" + std::to_string(use);
  return name;
}

std::vector<WeightSegment> kiln::collectWeights(ArrayRef<ProgramLayout *> layouts,
                                                const KernelTable &kernels) {
  std::vector<WeightSegment> segments;
  llvm::StringSet<> names;
  // A plan's own weights have a name each: of another plan only.
  llvm::DenseMap<std::pair<Attribute, Attribute>, unsigned> others;
  std::vector<size_t> ends;
  for (ProgramLayout *layout : layouts) {
    llvm::DenseMap<std::pair<Attribute, Attribute>, unsigned> own;
    for (ProgramLayout::Weight &weight : layout->weights) {
      std::pair<Attribute, Attribute> key(weight.value, weight.layout);
      if (auto known = others.find(key); known != others.end()) {
        weight.segment = known->second;
        continue;
      }
      weight.segment = static_cast<unsigned>(segments.size());
      own.try_emplace(key, weight.segment);
      WeightSegment segment;
      segment.name = uniqueName(weight.name, segments.size(), names);
      setBytes(segment, *tensorDataOf(weight.value), weight.layout.getValue(), kernels);
      segments.push_back(std::move(segment));
    }
    others.insert(own.begin(), own.end());
    ends.push_back(segments.size());
  }
  uint64_t size = layoutWeights(segments);
  for (auto [layout, end] : llvm::zip(layouts, ends)) {
    layout->weightsSize = end == segments.size() ? size : segments[end].offset;
    for (ProgramLayout::Weight &weight : layout->weights) {
      weight.offset = segments[weight.segment].offset;
      weight.bytes = segments[weight.segment].size;
      weight.name = segments[weight.segment].name;
    }
  }
  return segments;
}

ModelHeaderTensor kiln::headerTensor(StringRef name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  unsigned bits = storageBits(element);
  ModelHeaderTensor header;
  header.name = name.str();
  if (element.isF32() || element.isF64())
    header.cType = element.isF32() ? "float" : "double";
  else if (element.isInteger(1))
    header.cType = "uint8_t";
  else
    header.cType = (isa<FloatType>(element) || element.isUnsignedInteger() ? "uint" : "int") +
                   std::to_string(bits) + "_t";
  llvm::raw_string_ostream(header.dtype) << element;
  for (const Expr &dim : shapeOf(type))
    header.dims.push_back({dim.constant().value_or(-1), dim.str().str()});
  return header;
}
