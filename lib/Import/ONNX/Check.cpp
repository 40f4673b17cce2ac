//===- Check.cpp - A node against its operator's schema -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Check.h"
#include "kiln/Import/ONNX/Load.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using ONNX_NAMESPACE::OpSchema;

static std::string counted(size_t n, StringRef noun) {
  return std::to_string(n) + " " + noun.str() + (n == 1 ? "" : "s");
}

const SchemaInfo *NodeChecker::resolve(const Node &node) {
  std::string op = printable(node.opType), domain = shownDomain(node.domain);
  if (!SchemaTable::knowsDomain(node.domain)) {
    Diagnostic &d = report(node, Diag::UnsupportedDomain, op, printable(node.domain));
    if (!node.opset)
      d.note("the model's opset_import does not name the domain, nor has the model a function "
             "of that name");
    return nullptr;
  }
  const SchemaInfo *schema = model.schemas->find(node.opType, node.domain, node.opset);
  if (!schema && node.opType.empty()) {
    report(node, Diag::MissingName, "the operator");
    return nullptr;
  }
  if (!schema) {
    Diagnostic &d = report(node, Diag::UnknownOperator, op, domain, node.opset);
    std::vector<int> versions = SchemaTable::versionsOf(node.opType, node.domain);
    if (!versions.empty())
      d.note(op + " exists from " + domain + " opset " + llvm::Twine(versions.front()) + " on");
    else if (std::string other =
                 model.schemas->similarOperator(node.opType, node.domain, node.opset);
             !other.empty())
      d.note("did you mean " + other + "?");
    return nullptr;
  }
  // Withdrawn operators are no more; those that are only discouraged (the first
  // GroupNormalization) still mean what their schema says.
  bool discouraged = node.opType == "GroupNormalization";
  if (schema->deprecated && !discouraged) {
    report(node, Diag::DeprecatedOperator, op, domain, schema->since, node.opset);
    return nullptr;
  }
  return schema;
}

bool NodeChecker::checkForm(const Node &node, const SchemaInfo &schema) {
  bool counts = checkCounts(node, schema);
  return checkAttributes(node, schema) && counts;
}

/// "exactly 2 inputs", "1 to 3 inputs", "at least 1 input".
static std::string rangeText(int low, int high, StringRef noun) {
  if (high == INT_MAX)
    return "at least " + counted(low, noun);
  if (low == high)
    return "exactly " + counted(low, noun);
  return std::to_string(low) + " to " + counted(high, noun);
}

bool NodeChecker::checkCounts(const Node &node, const SchemaInfo &schema) {
  bool ok = true;
  const OpSchema &s = *schema.schema;
  std::string op = printable(node.opType);
  int inputs = static_cast<int>(node.inputs.size()),
      outputs = static_cast<int>(node.outputs.size());
  if (inputs < s.min_input() || inputs > s.max_input()) {
    report(node, Diag::WrongInputCount, op, rangeText(s.min_input(), s.max_input(), "input"),
           inputs);
    ok = false;
  }
  if (outputs < s.min_output() || outputs > s.max_output()) {
    report(node, Diag::WrongOutputCount, op, rangeText(s.min_output(), s.max_output(), "output"),
           outputs);
    ok = false;
  }
  for (size_t i = 0; ok && i != node.inputs.size(); ++i) {
    const Formal *formal = SchemaInfo::formalAt(schema.inputs, i);
    if (formal && formal->option == OpSchema::Single && node.inputs[i] == noValue) {
      report(node, Diag::MissingInput, i, formal->name, op);
      ok = false;
    }
  }
  return ok;
}

bool NodeChecker::checkAttributes(const Node &node, const SchemaInfo &schema) {
  bool ok = true;
  std::string op = printable(node.opType);
  llvm::StringSet<> seen;
  for (const Attribute &attribute : node.attributes) {
    std::string name = printable(attribute.name);
    if (!seen.insert(attribute.name).second) {
      report(node, Diag::DuplicateAttribute, name);
      ok = false;
      continue;
    }
    auto it = schema.attributes.find(attribute.name);
    if (it == schema.attributes.end()) {
      // Names that start with two underscores are notes of tools to themselves.
      if (StringRef(attribute.name).starts_with("__"))
        continue;
      Diagnostic &d = report(node, Diag::UnknownAttribute, op, name, node.opset);
      // Newest last: the most useful hint is in which version the attribute exists.
      for (int version : SchemaTable::versionsOf(node.opType, node.domain)) {
        const SchemaInfo *other = model.schemas->find(node.opType, node.domain, version);
        if (other && other->attributes.count(attribute.name)) {
          d.note(op + " has it at version " + llvm::Twine(version));
          break;
        }
      }
      if (!schema.attributes.empty()) {
        llvm::SmallVector<StringRef> names(schema.attributes.keys());
        llvm::sort(names);
        d.note("its attributes are " + llvm::join(names, ", "));
      }
      ok = false;
    } else if (it->second.kind != attribute.kind) {
      report(node, Diag::WrongAttributeType, name, Attribute::kindName(it->second.kind),
             Attribute::kindName(attribute.kind));
      ok = false;
    }
  }
  for (const auto &entry : schema.attributes)
    if (entry.second.required && !seen.contains(entry.first())) {
      report(node, Diag::MissingAttribute, entry.first());
      ok = false;
    }
  return ok;
}

bool NodeChecker::checkTypes(const Node &node, const SchemaInfo &schema) {
  bool ok = true;
  llvm::StringMap<Type> bound;
  llvm::StringMap<std::string> boundBy;
  std::string op = printable(node.opType);
  for (size_t i = 0; i != node.inputs.size(); ++i) {
    const Formal *formal = SchemaInfo::formalAt(schema.inputs, i);
    const Type &type = model.typeOf(node.inputs[i]);
    if (!formal || !type.known())
      continue;
    std::string value = printable(model.values[node.inputs[i]].name);
    std::string operand = "input " + formal->name;
    if (!formal->allows(type)) {
      report(node, Diag::WrongOperandType, operand, value, type.str(),
             op + "-" + std::to_string(schema.since), formal->allowedText());
      ok = false;
      continue;
    }
    if (!formal->isVariable || !formal->homogeneous)
      continue;
    auto [it, isNew] = bound.try_emplace(formal->typeText, type);
    if (isNew) {
      boundBy[formal->typeText] = "'" + value + "'";
    } else if (it->second.str() != type.str()) {
      report(node, Diag::OperandTypesDiffer, operand, value, type.str(), boundBy[formal->typeText],
             it->second.str());
      ok = false;
    }
  }
  for (size_t i = 0; i != node.outputs.size(); ++i) {
    const Formal *formal = SchemaInfo::formalAt(schema.outputs, i);
    if (!formal || node.outputs[i] == noValue)
      continue;
    ValueInfo &value = model.values[node.outputs[i]];
    Type type = outputType(node, *formal, bound);
    if (!type.known()) {
      // The declaration is all there is, but it must be possible.
      if (value.type.known() && !formal->allows(value.type)) {
        report(node, Diag::WrongOperandType, "output " + formal->name, printable(value.name),
               value.type.str(), op + "-" + std::to_string(schema.since), formal->allowedText());
        ok = false;
      }
      continue;
    }
    if (!value.type.known()) {
      value.type = type;
    } else if (ok && value.type.str() != type.str()) {
      report(node, Diag::DeclaredTypeDiffers, printable(value.name), value.type.str(), op,
             type.str());
      value.type = type; // What follows sees what is true.
      ok = false;
    }
  }
  return ok;
}

/// Element types that an attribute decides: operator, attribute, and the type
/// when the attribute is absent (Undefined: that of the first input).
static const struct {
  const char *op, *attribute;
  ElemType fallback;
} typeAttributes[] = {
    {"Cast", "to", ElemType::Undefined},
    {"BitCast", "to", ElemType::Undefined},
    {"EyeLike", "dtype", ElemType::Undefined},
    {"Bernoulli", "dtype", ElemType::Undefined},
    {"RandomNormalLike", "dtype", ElemType::Undefined},
    {"RandomUniformLike", "dtype", ElemType::Undefined},
    {"RandomNormal", "dtype", ElemType::Float},
    {"RandomUniform", "dtype", ElemType::Float},
    {"Multinomial", "dtype", ElemType::Int32},
    {"HannWindow", "output_datatype", ElemType::Float},
    {"HammingWindow", "output_datatype", ElemType::Float},
    {"BlackmanWindow", "output_datatype", ElemType::Float},
    {"MelWeightMatrix", "output_datatype", ElemType::Float},
};

static Type tensorOfNumber(int64_t number) {
  if (number <= 0 || number >= numElemTypes)
    return {};
  return Type::tensor(static_cast<ElemType>(number));
}

static Type constantType(const Node &node) {
  for (const Attribute &a : node.attributes) {
    switch (a.kind) {
    case Attribute::Kind::Tensor:
    case Attribute::Kind::SparseTensor:
      return Type::tensor(a.tensors[0].elemType);
    case Attribute::Kind::Float:
    case Attribute::Kind::Floats:
      return Type::tensor(ElemType::Float);
    case Attribute::Kind::Int:
    case Attribute::Kind::Ints:
      return Type::tensor(ElemType::Int64);
    case Attribute::Kind::String:
    case Attribute::Kind::Strings:
      return Type::tensor(ElemType::String);
    default:
      break;
    }
  }
  return {};
}

Type NodeChecker::outputType(const Node &node, const Formal &formal,
                             const llvm::StringMap<Type> &bound) {
  // Some constraints name one type only: Shape gives int64.
  if (llvm::popcount(formal.tensors) == 1 && formal.others.empty())
    return Type::tensor(static_cast<ElemType>(llvm::countr_zero(formal.tensors)));
  if (!formal.isVariable)
    return {};
  if (node.domain.empty()) {
    StringRef op = node.opType;
    if (op == "Constant")
      return constantType(node);
    if (op == "ConstantOfShape") {
      const Attribute *value = node.attribute("value");
      return Type::tensor(value && !value->tensors.empty() ? value->tensors[0].elemType
                                                           : ElemType::Float);
    }
    for (const auto &entry : typeAttributes)
      if (op == entry.op) {
        const Attribute *a = node.attribute(entry.attribute);
        if (a)
          return tensorOfNumber(a->i);
        if (entry.fallback != ElemType::Undefined)
          return Type::tensor(entry.fallback);
        const Type &input = model.typeOf(node.input(0));
        return input.isTensor() ? Type::tensor(input.elemType) : Type();
      }
    // Their subgraphs decide; checkSubgraphs has done it.
    if (op == "If" || op == "Loop" || op == "Scan")
      return {};
    // output_dtype wins over the zero point, and without both it is uint8.
    if (op == "QuantizeLinear") {
      int64_t number = node.intOr("output_dtype", 0);
      if (number)
        return tensorOfNumber(number);
      if (node.input(2) == noValue)
        return Type::tensor(ElemType::UInt8);
    }
    if (op == "DequantizeLinear")
      if (int64_t number = node.intOr("output_dtype", 0))
        return tensorOfNumber(number);
  }
  if (!formal.homogeneous)
    return {};
  auto it = bound.find(formal.typeText);
  if (it == bound.end())
    return {};
  Type type = it->second;
  type.hasShape = false;
  type.dims.clear();
  return type;
}

bool NodeChecker::checkSubgraphs(const Node &node) {
  if (!node.domain.empty())
    return true;
  bool ok = true;
  auto expect = [&](const Attribute &a, size_t inputs, size_t outputs) {
    const Graph &graph = *a.graphs[0];
    std::string what = "attribute '" + printable(a.name) + "'", op = printable(node.opType);
    if (graph.inputs.size() != inputs) {
      report(node, Diag::WrongSubgraphArity, what, op, counted(graph.inputs.size(), "input"),
             inputs);
      ok = false;
    }
    if (graph.outputs.size() != outputs) {
      report(node, Diag::WrongSubgraphArity, what, op, counted(graph.outputs.size(), "output"),
             outputs);
      ok = false;
    }
  };
  auto takeType = [&](ValueId output, const Graph &graph, size_t k) {
    if (output == noValue || k >= graph.outputs.size())
      return;
    const Type &inner = model.typeOf(graph.outputs[k].value);
    Type &outer = model.values[output].type;
    if (inner.isTensor() && !outer.known())
      outer = Type::tensor(inner.elemType);
  };
  const size_t inputs = node.inputs.size(), outputs = node.outputs.size();
  for (const Attribute &a : node.attributes) {
    if (a.kind != Attribute::Kind::Graph || a.graphs.empty())
      continue;
    size_t skip = 0;
    if (node.opType == "If") {
      expect(a, 0, outputs);
    } else if (node.opType == "Loop") {
      // Iteration number and condition come first, as do M and cond of the node.
      expect(a, std::max<size_t>(inputs, 2), outputs + 1);
      skip = 1;
    } else if (node.opType == "Scan" && node.sinceVersion >= 9) {
      expect(a, inputs, outputs);
    } else {
      continue;
    }
    for (size_t k = 0; ok && k != outputs; ++k)
      takeType(node.outputs[k], *a.graphs[0], k + skip);
  }
  return ok;
}
