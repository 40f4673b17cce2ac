//===- FreeFunctor.cpp - Functors of any parameters -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodePrinter.h"
#include "GenericWork.h"
#include "kiln/Target/CUDA/Template.h"
#include "kiln/Target/KernelFunction.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kiln;

std::optional<TemplateWriter::FreeFunctor>
TemplateWriter::freeFunctor(StringRef name, ArrayRef<FunctorParameter> parameters,
                               FunctorBody build) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  SmallVector<Type> types;
  std::string list;
  for (const FunctorParameter &parameter : parameters) {
    types.push_back(parameter.type);
    list += (list.empty() ? "" : ", ") + CodePrinter::typeOf(parameter.type) + " " + parameter.name;
  }
  auto built =
      buildElementFunction(kernel, table, VectorTarget::device(), *module, "functor", types, build);
  if (failed(built))
    return std::nullopt;
  built->setPublic();
  if (failed(passes.run(*module)))
    return std::nullopt;
  auto function = module->lookupSymbol<func::FuncOp>("functor");
  Block &entry = function.front();

  FreeFunctor result;
  std::string body;
  llvm::raw_string_ostream os(body);
  CodePrinter printer(os, 2);
  size_t inputs = kernel.getBody().front().getNumArguments();
  SmallVector<std::string> members, values;
  for (auto [i, argument] : llvm::enumerate(entry.getArguments().drop_back(parameters.size()))) {
    if (argument.use_empty())
      continue;
    if (i == inputs)
      return std::nullopt; // reads the result
    std::string text = (i < inputs ? "in" : "s") + std::to_string(i < inputs ? i : i - inputs - 1);
    printer.name(argument, text);
    std::string type = CodePrinter::typeOf(argument.getType());
    members.push_back(i < inputs ? "const " + type + text : type + " " + text);
    values.push_back(text);
  }
  for (auto [parameter, argument] :
       llvm::zip(parameters, entry.getArguments().take_back(parameters.size()))) {
    printer.name(argument, parameter.name);
    result.uses.push_back(!argument.use_empty());
  }
  if (failed(printer.print(entry)))
    return std::nullopt;
  Value returned = entry.getTerminator()->getOperand(0);
  result.operations = countOperations(entry);
  result.declaration = "struct " + name.str() + " {\n";
  for (const std::string &member : members)
    result.declaration += "  " + member + ";\n";
  result.declaration += "  __device__ __forceinline__ " + CodePrinter::typeOf(returned.getType()) +
                        " operator()(" + list + ") const {\n" + body + "    return " +
                        printer.text(returned) + ";\n  }\n};";
  result.value = name.str() + "{" + llvm::join(values, ", ") + "}";
  return result;
}
