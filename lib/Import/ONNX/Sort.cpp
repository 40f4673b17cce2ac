//===- Sort.cpp - Topological order of a graph's nodes --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Sort.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace kiln::onnx;
using llvm::StringRef;
using ONNX_NAMESPACE::GraphProto;
using ONNX_NAMESPACE::NodeProto;

// Recursion is as deep as graphs nest, which the wire scan bounds.
const std::vector<StringRef> &FreeNames::of(const GraphProto &graph) {
  if (auto it = known.find(&graph); it != known.end())
    return it->second;
  llvm::DenseSet<StringRef> defined, seen;
  for (const auto &input : graph.input())
    defined.insert(input.name());
  for (const auto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (const auto &sparse : graph.sparse_initializer())
    defined.insert(sparse.values().name());
  for (const NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      defined.insert(output);
  std::vector<StringRef> result;
  auto use = [&](StringRef name) {
    if (!name.empty() && !defined.contains(name) && seen.insert(name).second)
      result.push_back(name);
  };
  for (const NodeProto &node : graph.node())
    forEachUse(node, use);
  for (const auto &output : graph.output())
    use(output.name());
  return known[&graph] = std::move(result);
}

void FreeNames::forEachUse(const NodeProto &node, llvm::function_ref<void(StringRef)> use) {
  for (const std::string &input : node.input())
    if (!input.empty())
      use(input);
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      llvm::for_each(of(attribute.g()), use);
    for (const GraphProto &graph : attribute.graphs())
      llvm::for_each(of(graph), use);
  }
}

std::vector<uint32_t>
kiln::onnx::sortNodes(const NodeList &nodes, const llvm::DenseMap<StringRef, uint32_t> &definedBy,
                      FreeNames &freeNames,
                      llvm::function_ref<void(llvm::ArrayRef<uint32_t>)> onCycle) {
  const uint32_t count = static_cast<uint32_t>(nodes.size());
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<llvm::SmallVector<uint32_t, 2>> needs(count);
  bool sorted = true;
  for (uint32_t i = 0; i != count; ++i)
    freeNames.forEachUse(nodes[i], [&](StringRef name) {
      auto it = definedBy.find(name);
      if (it == definedBy.end())
        return;
      needs[i].push_back(it->second);
      sorted &= it->second < i;
    });
  if (sorted)
    return order;

  // Depth first in the order of the file, with a stack of its own: a chain in
  // reverse order is as deep as the graph is long.
  order.clear();
  enum : uint8_t { New, Open, Done };
  std::vector<uint8_t> state(count, New);
  std::vector<std::pair<uint32_t, uint32_t>> stack; // node, next need
  for (uint32_t root = 0; root != count; ++root) {
    if (state[root] != New)
      continue;
    state[root] = Open;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      if (next == needs[node].size()) {
        state[node] = Done;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      uint32_t need = needs[node][next++];
      if (state[need] == New) {
        state[need] = Open;
        stack.push_back({need, 0});
      } else if (state[need] == Open) {
        std::vector<uint32_t> cycle;
        for (auto it = stack.rbegin();; ++it) {
          cycle.push_back(it->first);
          if (it->first == need)
            break;
        }
        onCycle(cycle);
      }
    }
  }
  return order;
}
