//===- TemplateWriter.cpp - Instantiates a template for a fusion ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodePrinter.h"
#include "kiln/Target/CUDA/Template.h"
#include "kiln/Target/KernelFunction.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kiln;

/// Stands for a size that only the run knows when a configuration is chosen.
static constexpr int64_t nominalSize = 64;

/// C++ names of the arguments before symbols, and of the symbols.
static std::string inputName(size_t i) { return "in" + std::to_string(i); }
static std::string outputName(size_t i) { return "out" + std::to_string(i); }
static std::string symbolName(size_t i) { return "s" + std::to_string(i); }

std::string TemplateWriter::inputOf(Value operand) const {
  auto argument = dyn_cast<BlockArgument>(operand);
  return argument ? inputName(argument.getArgNumber()) : "";
}

bool TemplateWriter::yieldsOne(Type elementType) {
  auto results = kernel.getBody().front().getTerminator()->getOperands();
  return results.size() == 1 && elementTypeOf(results[0]) == elementType &&
         elementTypeOf(anchor->getResult(0)) == elementType && anchor->getNumResults() == 1 &&
         shapeOf(results[0]) == shapeOf(anchor->getResult(0));
}

int64_t TemplateWriter::guess(const Expr &size) {
  Expr guessed =
      size.substitute([](StringRef) -> std::optional<Expr> { return Expr(nominalSize); });
  return std::max<int64_t>(guessed.constant().value_or(nominalSize), 1);
}

int TemplateWriter::vectorOf(const Expr &line) {
  int64_t length = line.constant().value_or(1);
  return cuda::widestVector(4, cuda::vectorBytes, length, length);
}

Index TemplateWriter::indexOf(ElementBuilder &e, Value place, ArrayRef<Expr> dims) {
  SmallVector<Value> sizes;
  for (const Expr &dim : dims)
    sizes.push_back(e.size(dim));
  return e.delinearize(place, sizes);
}

void TemplateWriter::declareShape(StringRef shapeTemplate, ArrayRef<int> parameters) {
  std::string list;
  for (int parameter : parameters)
    list += (list.empty() ? "" : ", ") + std::to_string(parameter);
  declare("using Shape = kiln::cuda::" + shapeTemplate + "<" + list + ">;");
}

std::string TemplateWriter::sizeText(const Expr &size) {
  // An expression's text is C++ but for the names of functions.
  static constexpr std::pair<StringLiteral, StringLiteral> functions[] = {
      {"floordiv", "kiln::floorDiv"}, {"ceildiv", "kiln::ceilDiv"}, {"mod", "kiln::floorMod"},
      {"min", "kiln::smaller"},       {"max", "kiln::larger"},      {"bcast", "kiln::broadcast"}};
  StringRef text = size.str();
  std::string result;
  while (!text.empty()) {
    size_t length = text.find_if_not([](char c) { return llvm::isAlnum(c) || c == '_'; });
    StringRef word = text.take_front(length);
    if (word.empty()) {
      if (text.front() != '%')
        result += text.front();
      text = text.drop_front();
      continue;
    }
    auto known = llvm::find_if(functions, [&](auto &entry) { return entry.first == word; });
    result += known == std::end(functions) ? word : StringRef(known->second);
    text = text.drop_front(word.size());
  }
  return "int64_t(" + result + ")";
}

void TemplateWriter::include(StringRef header) {
  includes += ("#include \"" + header + "\"\n").str();
}

std::string TemplateWriter::epilogue(StringRef name, Place place) {
  return functor(name, [&](KernelBuilder &k, ValueRange parameters) {
    ElementBuilder e = k.elements();
    Value value = parameters[0];
    e.setSource(anchor->getResult(0), [=](ElementBuilder &, ArrayRef<Value>) { return value; });
    return e.element(k.results()[0], place(e, parameters[1], parameters[2]));
  });
}

std::optional<TemplateWriter::Prologue> TemplateWriter::prologue(StringRef name, Value operand,
                                                                 Place place) {
  constexpr StringLiteral identity = "kiln::cuda::Identity<float>";
  if (!elementTypeOf(operand).isF32())
    return std::nullopt;
  if (std::string input = inputOf(operand); !input.empty())
    return Prologue{input, (identity + "{}").str(), identity.str()};
  Value loaded;
  for (BlockArgument argument : kernel.getBody().front().getArguments())
    if (!loaded && elementTypeOf(argument).isF32() && shapeOf(argument) == shapeOf(operand))
      loaded = argument;
  if (!loaded)
    return std::nullopt;
  std::string text = functor(name, [&](KernelBuilder &k, ValueRange parameters) {
    ElementBuilder e = k.elements();
    Value value = parameters[0];
    Index at = place(e, parameters[1], parameters[2]);
    Buffer buffer = *e.bufferOf(loaded);
    e.setSource(loaded, [=](ElementBuilder &inner, ArrayRef<Value> index) {
      return index == ArrayRef<Value>(at) ? value : inner.load(buffer, index);
    });
    return e.element(operand, at);
  });
  if (text.empty())
    return std::nullopt;
  return Prologue{inputOf(loaded), text, name.str()};
}

std::string TemplateWriter::functor(StringRef name, Body build) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  OpBuilder b(kernel.getContext());
  Type element = b.getF32Type();
  auto built = buildElementFunction(kernel, table, VectorTarget::device(), *module, "functor",
                                    {element, b.getIndexType(), b.getIndexType()}, build);
  if (failed(built))
    return "";
  built->setPublic();
  if (failed(passes.run(*module)))
    return "";
  auto function = module->lookupSymbol<func::FuncOp>("functor");
  Block &entry = function.front();

  std::string body;
  llvm::raw_string_ostream os(body);
  CodePrinter printer(os, 2);
  size_t inputs = kernel.getBody().front().getNumArguments();
  SmallVector<std::string> members, values;
  for (auto [i, argument] : llvm::enumerate(entry.getArguments().drop_back(3))) {
    // Past the inputs and the result.
    std::string text = i < inputs ? inputName(i) : i == inputs ? "" : symbolName(i - inputs - 1);
    if (text.empty())
      continue;
    printer.name(argument, text);
    if (argument.use_empty())
      continue;
    std::string type = CodePrinter::typeOf(argument.getType());
    members.push_back(i < inputs ? "const " + type + text : type + " " + text);
    values.push_back(text);
  }
  ArrayRef<BlockArgument> own = entry.getArguments().take_back(3);
  printer.name(own[0], "value");
  printer.name(own[1], "row");
  printer.name(own[2], "col");
  if (failed(printer.print(entry)))
    return "";
  std::string text = "struct " + name.str() + " {\n";
  for (const std::string &member : members)
    text += "  " + member + ";\n";
  std::string type = CodePrinter::typeOf(element);
  text += "  __device__ __forceinline__ " + type + " operator()(" + type +
          " value, long row, long col) const {\n" + body + "    return " +
          printer.text(entry.getTerminator()->getOperand(0)) + ";\n  }\n};";
  declare(text);
  return name.str() + "{" + llvm::join(values, ", ") + "}";
}

DeviceKernel TemplateWriter::finish(StringRef algorithm, const cuda::LaunchShape &shape,
                                    std::array<Expr, 3> grid, StringRef note, StringRef body) {
  SmallVector<std::string> parameters;
  Block &region = kernel.getBody().front();
  auto pointer = [](Value tensor) {
    Type element = elementTypeOf(tensor);
    OpBuilder b(element.getContext());
    return CodePrinter::typeOf(
               element.isIntOrIndex()
                   ? b.getIntegerType(8 * static_cast<unsigned>(elementBytes(element)))
                   : element) +
           " *__restrict__ ";
  };
  for (auto [i, argument] : llvm::enumerate(region.getArguments()))
    parameters.push_back("const " + pointer(argument) + inputName(i));
  for (auto [i, result] : llvm::enumerate(region.getTerminator()->getOperands()))
    parameters.push_back(pointer(result) + outputName(i));
  for (size_t i = 0; i < kernel.getSymbols().size(); ++i)
    parameters.push_back("int64_t " + symbolName(i));
  DeviceKernel result;
  result.name = kernel.getSymName().str();
  result.algorithm = algorithm.str();
  result.threads = static_cast<unsigned>(shape.threads);
  result.sharedBytes = static_cast<unsigned>(shape.sharedBytes);
  result.unitsPerBlock = 1;
  result.slots = static_cast<unsigned>(parameters.size());
  result.facts.units = grid[0] * grid[1] * grid[2];
  result.grid = grid;
  result.choice = note.str();
  parameters.push_back("int64_t");
  result.text = "#include \"kiln/cuda/Math.h\"\n" + includes + "\nnamespace {\n" + declarations +
                "} // namespace\n\nextern \"C\" __global__ void __launch_bounds__(" +
                std::to_string(shape.threads) + ", 1)\n" + result.name + "(" +
                llvm::join(parameters, ",\n    ") + ") {\n" + body.str() + "}\n";
  return result;
}
