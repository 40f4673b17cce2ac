//===- Schema.h - ONNX's operator schemas, looked up lazily -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_SCHEMA_H
#define KILN_LIB_IMPORT_ONNX_SCHEMA_H

#include "kiln/Import/ONNX/Graph.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <onnx/defs/schema.h>

namespace kiln::onnx {

/// A formal input or output.
struct Formal {
  ONNX_NAMESPACE::OpSchema::FormalParameterOption option;
  bool homogeneous;
  int minArity;
  std::string name, typeText;      ///< typeText: "T" or "tensor(int64)"
  bool isVariable;                 ///< typeText names a type constraint
  uint32_t tensors = 0;            ///< bit k: tensor(ElemType k) is allowed
  std::vector<std::string> others; ///< further types that are allowed

  bool allows(const Type &type) const;
  std::string allowedText() const;
};

/// A schema in the form that the checks want, made when an operator is first met.
struct SchemaInfo {
  struct AttributeInfo {
    Attribute::Kind kind;
    bool required;
  };
  const ONNX_NAMESPACE::OpSchema *schema;
  int since;
  bool deprecated;
  llvm::StringMap<AttributeInfo> attributes;
  std::vector<Formal> inputs, outputs;

  /// The formal of an actual operand, the last one when it is variadic; else null.
  static const Formal *formalAt(const std::vector<Formal> &formals, size_t i);
};

class SchemaTable {
public:
  /// Null when the operator does not exist there. "ai.onnx" is "".
  const SchemaInfo *find(llvm::StringRef op, llvm::StringRef domain, int64_t opset);

  static bool knowsDomain(llvm::StringRef domain);
  static int newestOpset(llvm::StringRef domain);
  /// The names of all versions of an operator: ascending since-versions.
  static std::vector<int> versionsOf(llvm::StringRef op, llvm::StringRef domain);
  /// An operator of the domain whose name looks like `op`, or "".
  std::string similarOperator(llvm::StringRef op, llvm::StringRef domain, int64_t opset);

private:
  /// By "op\0domain\0opset".
  llvm::StringMap<std::unique_ptr<SchemaInfo>> infos;
  llvm::StringMap<std::string> similar;
  /// (domain, operator), read from the registry for the first suggestion.
  std::vector<std::pair<std::string, std::string>> names;
};

/// "" for both names of the default domain.
llvm::StringRef canonicalDomain(llvm::StringRef domain);
/// The domain as messages show it.
std::string shownDomain(llvm::StringRef domain);

} // namespace kiln::onnx

#endif
