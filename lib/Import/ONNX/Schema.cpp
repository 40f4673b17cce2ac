//===- Schema.cpp - ONNX's operator schemas, looked up lazily -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Schema.h"
#include "kiln/Import/ONNX/Load.h"
#include "kiln/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using ONNX_NAMESPACE::OpSchema;
using ONNX_NAMESPACE::OpSchemaRegistry;

StringRef kiln::onnx::canonicalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}
std::string kiln::onnx::shownDomain(StringRef domain) {
  return domain.empty() ? "ai.onnx" : printable(domain);
}

bool Formal::allows(const Type &type) const {
  if (type.isTensor())
    return tensors >> static_cast<unsigned>(type.elemType) & 1;
  return llvm::is_contained(others, type.str());
}

std::string Formal::allowedText() const {
  std::string result;
  llvm::ListSeparator separator;
  for (unsigned k = 0; k != numElemTypes; ++k)
    if (tensors >> k & 1) {
      result += StringRef(separator);
      result += "tensor(" + elemTypeName(static_cast<ElemType>(k)).str() + ")";
    }
  for (const std::string &other : others) {
    result += StringRef(separator);
    result += other;
  }
  return result;
}

const Formal *SchemaInfo::formalAt(const std::vector<Formal> &formals, size_t i) {
  if (i < formals.size())
    return &formals[i];
  if (!formals.empty() && formals.back().option == OpSchema::Variadic)
    return &formals.back();
  return nullptr;
}

static std::optional<ElemType> elemTypeNamed(StringRef name) {
  for (unsigned k = 1; k != numElemTypes; ++k)
    if (elemTypeName(static_cast<ElemType>(k)) == name)
      return static_cast<ElemType>(k);
  return std::nullopt;
}

static std::vector<Formal> formalsOf(const std::vector<OpSchema::FormalParameter> &parameters,
                                     const OpSchema &schema) {
  std::vector<Formal> result;
  for (const OpSchema::FormalParameter &parameter : parameters) {
    Formal formal{parameter.GetOption(),
                  parameter.GetIsHomogeneous(),
                  parameter.GetMinArity(),
                  parameter.GetName(),
                  parameter.GetTypeStr(),
                  false,
                  0,
                  {}};
    formal.isVariable = schema.typeConstraintMap().count(formal.typeText) != 0;
    for (ONNX_NAMESPACE::DataType type : parameter.GetTypes()) {
      StringRef inner = *type;
      std::optional<ElemType> elemType;
      if (inner.consume_front("tensor(") && inner.consume_back(")"))
        elemType = elemTypeNamed(inner);
      if (elemType)
        formal.tensors |= 1u << static_cast<unsigned>(*elemType);
      else
        formal.others.push_back(*type);
    }
    llvm::sort(formal.others);
    result.push_back(std::move(formal));
  }
  return result;
}

const SchemaInfo *SchemaTable::find(StringRef op, StringRef domain, int64_t opset) {
  std::string key =
      (op + llvm::Twine('\0') + domain + llvm::Twine('\0') + llvm::Twine(opset)).str();
  auto [it, isNew] = infos.try_emplace(key);
  if (!isNew)
    return it->second.get();
  if (opset < 1 || opset > INT32_MAX)
    return nullptr;
  const OpSchema *schema =
      OpSchemaRegistry::Schema(op.str(), static_cast<int>(opset), domain.str());
  if (!schema)
    return nullptr;
  auto info = std::make_unique<SchemaInfo>();
  info->schema = schema;
  info->since = schema->SinceVersion();
  info->deprecated = schema->Deprecated();
  for (const auto &[name, attribute] : schema->attributes())
    info->attributes[name] = {static_cast<Attribute::Kind>(attribute.type), attribute.required};
  info->inputs = formalsOf(schema->inputs(), *schema);
  info->outputs = formalsOf(schema->outputs(), *schema);
  it->second = std::move(info);
  return it->second.get();
}

bool SchemaTable::knowsDomain(StringRef domain) {
  return OpSchemaRegistry::DomainToVersionRange::Instance().Map().count(domain.str()) != 0;
}

int SchemaTable::newestOpset(StringRef domain) {
  const auto &map = OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto it = map.find(domain.str());
  return it == map.end() ? 0 : it->second.second;
}

std::vector<int> SchemaTable::versionsOf(StringRef op, StringRef domain) {
  std::vector<int> versions;
  // Walks down from the newest: the registry has no other public view of one operator.
  for (int opset = newestOpset(domain); opset > 0;) {
    const OpSchema *schema = OpSchemaRegistry::Schema(op.str(), opset, domain.str());
    if (!schema)
      break;
    versions.push_back(schema->SinceVersion());
    opset = schema->SinceVersion() - 1;
  }
  std::reverse(versions.begin(), versions.end());
  return versions;
}

std::string SchemaTable::similarOperator(StringRef op, StringRef domain, int64_t opset) {
  auto [it, isNew] = similar.try_emplace((op + llvm::Twine('\0') + domain).str());
  if (!isNew)
    return it->second;
  if (names.empty()) {
    // The registry hands out copies of its schemas: once is enough. Sorted, since
    // its order is that of a hash table.
    for (const OpSchema &schema : OpSchemaRegistry::get_all_schemas())
      if (!schema.Deprecated())
        names.emplace_back(schema.domain(), schema.Name());
    llvm::sort(names);
  }
  std::string best;
  unsigned bestDistance = static_cast<unsigned>(std::max<size_t>(1, op.size() / 3)) + 1;
  for (const auto &[nameDomain, name] : names) {
    // A long name from a broken file costs no time.
    if (nameDomain != domain || op.size() > name.size() + bestDistance)
      continue;
    unsigned distance =
        op.equals_insensitive(name) ? 0 : op.edit_distance(name, true, bestDistance);
    if (distance < bestDistance && find(name, domain, opset)) {
      best = name;
      bestDistance = distance;
    }
  }
  return similar[(op + llvm::Twine('\0') + domain).str()] = best;
}

int kiln::onnx::sinceVersion(StringRef op, StringRef domain, int opset) {
  const OpSchema *schema =
      opset < 1 ? nullptr
                : OpSchemaRegistry::Schema(op.str(), opset, canonicalDomain(domain).str());
  return schema && !schema->Deprecated() ? schema->SinceVersion() : 0;
}
