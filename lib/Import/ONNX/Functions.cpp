//===- Functions.cpp - Inlines the functions of a model -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call is inlined by lowering the function's body in a scope where its
// parameters are the call's values: no message is copied, and values get ids of
// their own at each call. Types flow from the call into the body.
//
//===----------------------------------------------------------------------===//
#include "Lower.h"
#include "llvm/ADT/STLExtras.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using namespace ONNX_NAMESPACE;

static std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (canonicalDomain(domain) + llvm::Twine('\0') + name + llvm::Twine('\0') + overload).str();
}

static std::string shownFunction(const FunctionProto &function) {
  std::string result =
      shownDomain(canonicalDomain(function.domain())) + "." + printable(function.name());
  if (!function.overload().empty())
    result += ":" + printable(function.overload());
  return result;
}

bool Lowering::collectFunctions(const ModelProto &proto) {
  bool ok = true;
  for (const FunctionProto &function : proto.functions()) {
    std::string key = functionKey(function.domain(), function.name(), function.overload());
    if (!functions.try_emplace(key, &function).second) {
      diags.report(Diag::DuplicateFunction, shownFunction(function));
      ok = false;
    }
  }
  return ok;
}

const FunctionProto *Lowering::findFunction(StringRef domain, StringRef name,
                                            StringRef overload) const {
  if (functions.empty())
    return nullptr;
  auto it = functions.find(functionKey(domain, name, overload));
  return it == functions.end() ? nullptr : it->second;
}

static void forEachNode(const NodeList &nodes, llvm::function_ref<void(const NodeProto &)> visit) {
  for (const NodeProto &node : nodes) {
    visit(node);
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        forEachNode(attribute.g().node(), visit);
      for (const GraphProto &graph : attribute.graphs())
        forEachNode(graph.node(), visit);
    }
  }
}

// An explicit stack: a chain of calls can be as long as the file has functions.
void Lowering::findRecursion() {
  struct Visit {
    const FunctionProto *function;
    std::vector<const FunctionProto *> callees;
    size_t next;
  };
  auto visitOf = [&](const FunctionProto *function) {
    Visit visit{function, {}, 0};
    llvm::DenseSet<const FunctionProto *> seen;
    forEachNode(function->node(), [&](const NodeProto &node) {
      const FunctionProto *callee = findFunction(node.domain(), node.op_type(), node.overload());
      if (callee && seen.insert(callee).second)
        visit.callees.push_back(callee);
    });
    return visit;
  };
  enum : uint8_t { New, Open, Done };
  llvm::DenseMap<const FunctionProto *, uint8_t> state;
  llvm::SmallVector<const FunctionProto *> roots;
  for (const auto &entry : functions)
    roots.push_back(entry.second);
  // The hash table's order must not show in messages.
  llvm::sort(roots, [](const FunctionProto *a, const FunctionProto *b) {
    return shownFunction(*a) < shownFunction(*b);
  });
  for (const FunctionProto *root : roots) {
    if (state[root] != New)
      continue;
    std::vector<Visit> stack;
    state[root] = Open;
    stack.push_back(visitOf(root));
    while (!stack.empty()) {
      Visit &top = stack.back();
      if (top.next == top.callees.size()) {
        state[top.function] = Done;
        stack.pop_back();
        continue;
      }
      const FunctionProto *callee = top.callees[top.next++];
      if (state[callee] == New) {
        state[callee] = Open;
        stack.push_back(visitOf(callee));
      } else if (state[callee] == Open) {
        auto from = llvm::find_if(stack, [&](const Visit &v) { return v.function == callee; });
        std::string path;
        for (auto it = from; it != stack.end(); ++it) {
          recursive.insert(it->function);
          if (it - from < 8)
            path += shownFunction(*it->function) + " -> ";
          else if (it - from == 8)
            path += "... -> ";
        }
        diags.report(Diag::RecursiveFunction, path + shownFunction(*callee));
      }
    }
  }
}

void Lowering::lowerBody(const FunctionProto &function, Place place,
                         std::vector<ValueId> &results) {
  lowerNodes(function.node(), place);
  // An optional output need not be computed; who wants one that is not, complains.
  for (const std::string &output : function.output())
    results.push_back(lookup(place.scope, output).value_or(noValue));
}

void Lowering::inlineCall(const FunctionProto &function, const NodeProto &call, Node &node,
                          Place place) {
  // Values behind the call stay defined whatever goes wrong.
  auto giveUp = [&] {
    for (const std::string &output : call.output())
      addResult(place, output);
  };
  auto count = [](int n, const char *noun) {
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
  };
  std::string shown = shownFunction(function);
  bool ok = !recursive.contains(&function);
  if (call.input_size() > function.input_size()) {
    diags
        .report(Diag::FunctionArity, shown, count(function.input_size(), "input"),
                call.input_size())
        .atNode(node.label());
    ok = false;
  }
  if (call.output_size() > function.output_size()) {
    diags
        .report(Diag::FunctionArity, shown, count(function.output_size(), "output"),
                call.output_size())
        .atNode(node.label());
    ok = false;
  }
  if (depth >= maxLoweringDepth) {
    if (!tooDeepReported)
      diags.report(Diag::NestedTooDeeply, maxLoweringDepth);
    tooDeepReported = true;
    ok = false;
  }

  Frame frame;
  frame.function = &function;
  frame.source = modelSource;
  frame.path =
      (node.name.empty() ? function.name() + "#" + std::to_string(node.index) : node.name) + "/";
  for (const AttributeProto &attribute : call.attribute()) {
    if (!attribute.ref_attr_name().empty() && place.frame.function &&
        !place.frame.attributes.count(attribute.ref_attr_name()))
      continue;
    bool declared = llvm::is_contained(function.attribute(), attribute.name()) ||
                    llvm::any_of(function.attribute_proto(), [&](const AttributeProto &a) {
                      return a.name() == attribute.name();
                    });
    if (!declared) {
      diags.report(Diag::UnknownAttribute, shown, printable(attribute.name()), node.opset)
          .atNode(node.label());
      ok = false;
    } else if (std::optional<Attribute> lowered = lowerAttribute(attribute, node, place)) {
      if (!frame.attributes.try_emplace(attribute.name(), std::move(*lowered)).second) {
        diags.report(Diag::DuplicateAttribute, printable(attribute.name())).atNode(node.label());
        ok = false;
      }
    } else {
      ok = false;
    }
  }
  if (!ok)
    return giveUp();

  auto [opsets, isNew] = functionOpsets.try_emplace(&function);
  if (isNew)
    readOpsets(function.opset_import(), opsets->second, shown);
  frame.opsets = opsets->second;
  Scope scope;
  Place inner{scope, frame, place.graph};
  for (const AttributeProto &fallback : function.attribute_proto())
    if (!frame.attributes.count(fallback.name()))
      if (std::optional<Attribute> lowered = lowerAttribute(fallback, node, inner))
        frame.attributes.try_emplace(fallback.name(), std::move(*lowered));

  for (int i = 0; i != function.input_size(); ++i) {
    const std::string &name = function.input(i);
    if (!scope.definitions.try_emplace(name, Scope::Definition{Scope::Definer::Input, 0}).second) {
      diags.report(Diag::DuplicateValue, printable(name), "an input of function " + shown,
                   "another");
      return giveUp();
    }
    // A parameter that the call leaves out is an absent operand inside.
    scope.values[name] = node.input(i);
  }
  const ValueId firstNew = static_cast<ValueId>(model.values.size());
  std::vector<ValueId> results;
  ++depth;
  lowerBody(function, inner, results);
  --depth;

  for (int i = 0; i != call.output_size(); ++i) {
    const std::string &name = call.output(i);
    if (name.empty())
      continue;
    ValueId id = results[i];
    if (id == noValue) {
      diags.report(Diag::UndefinedOutput, printable(function.output(i)), shown)
          .atNode(node.label());
      addResult(place, name);
      continue;
    }
    auto declared = place.scope.declared.find(name);
    ValueInfo &value = model.values[id];
    if (id >= firstNew) {
      // Outside it is known by the caller's name, and perhaps better.
      value.name = place.frame.path + name;
      if (declared != place.scope.declared.end() && declared->second.known()) {
        if (value.type.known() && value.type.str() != declared->second.str())
          diags
              .report(Diag::DeclaredTypeDiffers, printable(name), declared->second.str(), shown,
                      value.type.str())
              .atNode(node.label());
        else
          value.type = declared->second;
      }
    }
    place.scope.values[name] = id;
  }
}

bool Lowering::lowerFunctionBody(const FunctionProto &function, const PayloadSource &source,
                                 llvm::ArrayRef<ValueId> arguments,
                                 llvm::ArrayRef<Attribute> attributes, StringRef path, Graph &graph,
                                 std::vector<ValueId> &results) {
  Frame frame;
  frame.function = &function;
  frame.source = &source;
  frame.path = path.str();
  readOpsets(function.opset_import(), frame.opsets, shownFunction(function));
  for (const Attribute &attribute : attributes)
    frame.attributes.try_emplace(attribute.name, attribute);
  Scope scope;
  for (int i = 0; i != function.input_size(); ++i) {
    scope.definitions.try_emplace(function.input(i), Scope::Definition{Scope::Definer::Input, 0});
    scope.values[function.input(i)] =
        static_cast<size_t>(i) < arguments.size() ? arguments[i] : noValue;
  }
  Node holder;
  holder.opType = function.name();
  for (const AttributeProto &fallback : function.attribute_proto())
    if (!frame.attributes.count(fallback.name()))
      if (std::optional<Attribute> lowered =
              lowerAttribute(fallback, holder, {scope, frame, graph}))
        frame.attributes.try_emplace(fallback.name(), std::move(*lowered));
  lowerBody(function, {scope, frame, graph}, results);
  computeCaptures(graph);
  return !diags.hasErrors();
}
