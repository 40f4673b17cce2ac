//===- TemplateWriter.cpp - Instantiates a template for a fusion ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodePrinter.h"
#include "GenericWork.h"
#include "dialects/Kiln/IR/StridedView.h"
#include "dialects/Kiln/ops/Cast/Cast.h"
#include "kiln/Codegen/Overwrite.h"
#include "kiln/Codegen/StoredType.h"
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

Operation *TemplateWriter::rowsBefore() const {
  for (Operation &op : *anchor->getBlock()) {
    if (&op == anchor)
      break;
    if (const OpKernels *kernels = table.find(&op); kernels && kernels->kernel)
      return &op;
  }
  return nullptr;
}

std::string TemplateWriter::inputOf(Value operand) const {
  auto argument = dyn_cast<BlockArgument>(operand);
  return argument ? inputName(argument.getArgNumber()) : "";
}

bool TemplateWriter::yieldsOne(Type elementType) {
  return yieldsOne() && elementTypeOf(anchor->getResult(0)) == elementType &&
         elementTypeOf(kernel.getBody().front().getTerminator()->getOperand(0)) == elementType;
}

/// What templates compute with.
static bool isFloat(Value tensor) {
  Type type = elementTypeOf(tensor);
  return type.isF32() || type.isF16() || type.isBF16();
}

bool TemplateWriter::yieldsOne() {
  auto results = kernel.getBody().front().getTerminator()->getOperands();
  return results.size() == 1 && anchor->getNumResults() == 1 && isFloat(anchor->getResult(0)) &&
         shapeOf(results[0]) == shapeOf(anchor->getResult(0));
}

std::string TemplateWriter::resultType() {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  return CodePrinter::typeOf(storedType(elementTypeOf(result)));
}

int64_t TemplateWriter::guess(const Expr &size) {
  Expr guessed =
      size.substitute([](StringRef) -> std::optional<Expr> { return Expr(nominalSize); });
  return std::max<int64_t>(guessed.constant().value_or(nominalSize), 1);
}

int TemplateWriter::vectorOf(const Expr &line, int elementBytes) {
  int vector = cuda::vectorBytes / elementBytes;
  while (vector > 1 && !Expr::divideExactly(line, vector))
    vector /= 2;
  return vector;
}

Index TemplateWriter::indexOf(ElementBuilder &e, Value place, ArrayRef<Expr> dims) {
  SmallVector<Value> sizes;
  for (const Expr &dim : dims)
    sizes.push_back(e.size(dim));
  return e.delinearize(place, sizes);
}

void TemplateWriter::declareShape(StringRef shapeTemplate, ArrayRef<int> parameters,
                                  StringRef elementType) {
  std::string list = elementType.str();
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

SmallVector<TemplateWriter::Parameter, 3> TemplateWriter::valueAndPlace() {
  OpBuilder b(kernel.getContext());
  return {{b.getF32Type(), "value"}, {b.getIndexType(), "row"}, {b.getIndexType(), "col"}};
}

/// An element as it is in memory.
static Value stored(ElementBuilder &e, Value element, Type elementType) {
  if (!elementType.isInteger() || elementType.getIntOrFloatBitWidth() >= 8)
    return element;
  Type byte = storedType(elementType);
  return isUnsigned(elementType) ? Value(arith::ExtUIOp::create(e.b, e.loc, byte, element))
                                 : Value(arith::ExtSIOp::create(e.b, e.loc, byte, element));
}

std::string TemplateWriter::epilogue(StringRef name, Place place) {
  return functor(name, resultType(), "operator()", valueAndPlace(),
                 [&](KernelBuilder &k, ValueRange parameters) {
                   ElementBuilder e = k.elements();
                   Value value = parameters[0], made = anchor->getResult(0);
                   e.setSource(made, [=](ElementBuilder &inner, ArrayRef<Value>) {
                     return inner.narrow(value, elementTypeOf(made));
                   });
                   // A sum that is wanted in f32 need not be rounded on the way.
                   for (Operation *user : made.getUsers())
                     if (isa<CastOp>(user) && elementTypeOf(user->getResult(0)).isF32())
                       e.setSource(user->getResult(0),
                                   [=](ElementBuilder &, ArrayRef<Value>) { return value; });
                   Value result = e.element(k.results()[0], place(e, parameters[1], parameters[2]));
                   return stored(e, result, elementTypeOf(k.results()[0]));
                 });
}

std::string TemplateWriter::valueFunctor(StringRef name, Change change) {
  return functor(name, "float", "operator()", valueAndPlace(),
                 [&](KernelBuilder &k, ValueRange parameters) {
                   ElementBuilder e = k.elements();
                   return change(e, parameters[0], parameters[1], parameters[2]);
                 });
}

std::string TemplateWriter::elementFunctor(StringRef name, Value operand, Place place) {
  return functor(name, "float", "operator()", ArrayRef(valueAndPlace()).drop_front(),
                 [&](KernelBuilder &k, ValueRange where) {
                   ElementBuilder e = k.elements();
                   return e.widen(e.element(operand, place(e, where[0], where[1])));
                 });
}

/// How many neighbours along a dim one load takes, wherever a multiple of so many starts.
static int vectorOfView(const StridedView &view, Value operand, int64_t along) {
  Shape shape = shapeOf(operand);
  if (shape.empty())
    return 1;
  size_t inner = along < 0 ? shape.size() - 1 : static_cast<size_t>(along);
  int vector = cuda::vectorBytes / static_cast<int>(elementBytes(elementTypeOf(operand)));
  auto fits = [&](const Expr &size) { return Expr::divideExactly(size, vector).has_value(); };
  auto allFit = [&] {
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != inner && !shape[d].isConstant(1) && !fits(view.strides[d]))
        return false;
    return fits(view.offset) && fits(shape[inner]);
  };
  if (!view.strides[inner].isConstant(1))
    return 1;
  while (vector > 1 && !allFit())
    vector /= 2;
  return vector;
}

std::optional<TemplateWriter::View> TemplateWriter::viewOf(Value operand, int64_t along) const {
  StridedView view = stridedView(operand);
  auto input = dyn_cast<BlockArgument>(view.base);
  if (!input || !isFloat(operand))
    return std::nullopt;
  return View{input, CodePrinter::typeOf(elementTypeOf(operand)), view.strides, view.offset,
              vectorOfView(view, operand, along)};
}

std::optional<TemplateWriter::Prologue> TemplateWriter::prologue(StringRef name, Value operand,
                                                                 Place place, int64_t along) {
  constexpr StringLiteral identity = "kiln::cuda::Identity<float>";
  if (!isFloat(operand))
    return std::nullopt;
  auto most = [](Value tensor) {
    return cuda::vectorBytes / static_cast<int>(elementBytes(elementTypeOf(tensor)));
  };
  if (std::string input = inputOf(operand); !input.empty())
    return Prologue{input, CodePrinter::typeOf(elementTypeOf(operand)), (identity + "{}").str(),
                    identity.str(), most(operand)};
  if (auto view = viewOf(operand, along)) {
    std::string text = functor(
        name, "const " + view->element + " *", "at", ArrayRef(valueAndPlace()).drop_front(),
        [&](KernelBuilder &k, ValueRange where) {
          ElementBuilder e = k.elements();
          Value offset = e.size(view->offset);
          for (auto [at, stride] : llvm::zip_equal(place(e, where[0], where[1]), view->strides))
            offset = e.add(offset, e.mul(at, e.size(stride)));
          return offset;
        },
        view->input);
    if (text.empty())
      return std::nullopt;
    return Prologue{inputOf(view->input), view->element, text, name.str(), view->vector};
  }
  // What lies at the same place of an input passes by as a value, many at once; else the functor
  // reads by itself.
  SmallVector<BlockArgument> sameShape;
  for (BlockArgument argument : kernel.getBody().front().getArguments())
    if (isFloat(argument) && shapeOf(argument) == shapeOf(operand))
      sameShape.push_back(argument);
  for (BlockArgument loaded : sameShape) {
    size_t before = declarations.size();
    bool isUsed = false;
    std::string text =
        valueFunctor(name, [&](ElementBuilder &e, Value value, Value row, Value col) {
          Index at = place(e, row, col);
          Buffer buffer = *e.bufferOf(loaded);
          e.setSource(loaded, [&](ElementBuilder &inner, ArrayRef<Value> index) {
            if (index != ArrayRef<Value>(at))
              return inner.load(buffer, index);
            isUsed = true;
            return inner.narrow(value, elementTypeOf(loaded));
          });
          return e.widen(e.element(operand, at));
        });
    if (!text.empty() && isUsed)
      return Prologue{inputOf(loaded), CodePrinter::typeOf(elementTypeOf(loaded)), text, name.str(),
                      most(loaded)};
    declarations.resize(before);
  }
  std::string text = elementFunctor(name, operand, place);
  if (text.empty())
    return std::nullopt;
  return Prologue{"static_cast<const float *>(nullptr)", "float", text, name.str(), 1};
}

std::string TemplateWriter::indexFunctor(StringRef name,
                                         function_ref<Value(ElementBuilder &e, Value at)> body) {
  Parameter at{IndexType::get(kernel.getContext()), "at"};
  return functor(name, "long", "operator()", at, [&](KernelBuilder &k, ValueRange parameters) {
    ElementBuilder e = k.elements();
    return body(e, parameters[0]);
  });
}

std::string TemplateWriter::functor(StringRef name, StringRef result, StringRef method,
                                    ArrayRef<Parameter> parameters, Body build,
                                    BlockArgument base) {
  auto made = freeFunctor(name, parameters, build, {result.str(), method.str(), base, false});
  if (!made)
    return "";
  declare(made->declaration);
  return made->value;
}

std::optional<TemplateWriter::FreeFunctor>
TemplateWriter::freeFunctor(StringRef name, ArrayRef<Parameter> parameters, Body build,
                            const Method &method) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  SmallVector<Type> types;
  for (const Parameter &parameter : parameters)
    types.push_back(parameter.type);
  auto built =
      buildElementFunction(kernel, table, VectorTarget::device(), *module, "functor", types, build);
  if (failed(built))
    return std::nullopt;
  built->setPublic();
  if (failed(passes.run(*module)))
    return std::nullopt;
  Block &entry = module->lookupSymbol<func::FuncOp>("functor").front();

  FreeFunctor made;
  std::string body, list;
  llvm::raw_string_ostream os(body);
  CodePrinter printer(os, 2);
  size_t inputs = kernel.getBody().front().getNumArguments();
  SmallVector<std::string> members, values;
  for (auto [i, argument] : llvm::enumerate(entry.getArguments().drop_back(parameters.size()))) {
    // Past the inputs and the result.
    std::string text = i < inputs ? inputName(i) : i == inputs ? "" : symbolName(i - inputs - 1);
    if (text.empty())
      continue;
    printer.name(argument, text);
    if (argument.use_empty() && !(method.base && method.base.getArgNumber() == i))
      continue;
    std::string type = CodePrinter::typeOf(argument.getType());
    members.push_back(i < inputs ? "const " + type + text : type + " " + text);
    values.push_back(text);
  }
  for (auto [parameter, argument] :
       llvm::zip(parameters, entry.getArguments().take_back(parameters.size()))) {
    printer.name(argument, parameter.name);
    made.uses.push_back(!argument.use_empty());
    if (method.onlyUsed && argument.use_empty())
      continue;
    list += (list.empty() ? "" : ", ") +
            (parameter.type.isIndex() ? "long" : CodePrinter::typeOf(parameter.type)) + " " +
            parameter.name;
  }
  if (failed(printer.print(entry)))
    return std::nullopt;
  Value returned = entry.getTerminator()->getOperand(0);
  std::string result =
      method.result.empty() ? CodePrinter::typeOf(returned.getType()) : method.result;
  made.operations = countOperations(entry);
  made.declaration = "struct " + name.str() + " {\n";
  for (const std::string &member : members)
    made.declaration += "  " + member + ";\n";
  made.declaration += "  __device__ __forceinline__ " + result + (result.back() == '*' ? "" : " ") +
                      (method.name.empty() ? "operator()" : method.name) + "(" + list +
                      ") const {\n" + body + "    return " +
                      (method.base ? inputOf(method.base) + " + " : std::string()) +
                      printer.text(returned) + ";\n  }\n};";
  made.value = name.str() + "{" + llvm::join(values, ", ") + "}";
  return made;
}

DeviceKernel TemplateWriter::finish(StringRef algorithm, const cuda::LaunchShape &shape,
                                    std::array<Expr, 3> grid, StringRef note, StringRef body) {
  SmallVector<std::string> parameters;
  Block &region = kernel.getBody().front();
  auto pointer = [](Value tensor, bool isAlone) {
    return CodePrinter::typeOf(storedType(elementTypeOf(tensor))) +
           (isAlone ? " *__restrict__ " : " *");
  };
  // A launch may give an operand and the result the same memory.
  bool isResultAlone = true;
  for (auto [i, argument] : llvm::enumerate(region.getArguments())) {
    bool isAlone = !mayOverwrite(region, static_cast<unsigned>(i), table);
    isResultAlone &= isAlone;
    parameters.push_back("const " + pointer(argument, isAlone) + inputName(i));
  }
  for (auto [i, result] : llvm::enumerate(region.getTerminator()->getOperands()))
    parameters.push_back(pointer(result, isResultAlone) + outputName(i));
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
