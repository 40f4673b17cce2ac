//===- Instance.cpp - Random graphs that a pattern is about ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Instance.h"
#include "InstancePattern.h"
#include "dialects/Kiln/IR/ModelAttributes.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "kiln/Reference/TensorData.h"
#include "mlir/Dialect/PDL/IR/PDLTypes.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace kiln;

namespace {
class Maker {
public:
  /// With a spec the instance is as models have it; without, anything.
  Maker(pdl::PatternOp pattern, Miss miss, Random &random, const InstanceSpec *spec = nullptr)
      : pattern(pattern), miss(miss), random(random), spec(spec), b(pattern.getContext()) {}

  OwningOpRef<ModuleOp> run();

private:
  int64_t below(int64_t count) { return static_cast<int64_t>(random() % uint64_t(count)); }
  bool chance(int64_t in) { return below(in) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  }

  void drawWorld();
  void setWorld();
  bool build(pdl::OperationOp op);
  Value operandFor(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand);
  Shape shapeFor(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand);
  /// What rows are looked up in; random inputs are places in it.
  Shape tableShape() const { return {Expr(64), base.back()}; }
  bool isParameter(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand) const;
  Shape modelShapeFor(StringRef opName, size_t index, ArrayRef<Value> known,
                      Value pdlOperand) const;
  Value makeConstant(RankedTensorType type, std::optional<Attribute> wanted, bool isWeight);
  SmallVector<NamedAttribute> attributesFor(pdl::OperationOp op, ArrayRef<Value> operands);
  Attribute drawAttribute(StringRef opName, StringRef name, ArrayRef<Value> operands);
  static StringRef nameOf(pdl::OperationOp op, pdl::PatternOp pattern);

  pdl::PatternOp pattern;
  Miss miss;
  Random &random;
  const InstanceSpec *spec;
  OpBuilder b;
  Location loc = b.getUnknownLoc();
  Block *body = nullptr;
  llvm::DenseMap<Value, Value> values; // of the pattern, in the graph
  llvm::DenseMap<Value, Operation *> ops;
  unsigned missAt = 0, missSeen = 0;

  // The same for a whole instance.
  Shape base;
  Type element;
  int64_t reducedAxes = 1;
};
} // namespace

void Maker::drawWorld() {
  if (spec)
    return setWorld();
  element = chance(5) ? Type(b.getF16Type()) : chance(8) ? Type(b.getI32Type()) : b.getF32Type();
  if (isOfImages(pattern)) {
    base = {Expr(1 + below(2)), Expr(4), Expr(5 + below(2)), Expr(5 + below(3))};
  } else if (isOfGroups(pattern)) {
    base = {Expr(1 + below(2)), Expr(2 + below(2)), Expr(8 * (1 + below(3)))};
  } else {
    for (int64_t i = 0, rank = 2 + below(3); i < rank; ++i)
      base.push_back(Expr(2 + below(4)));
  }
  // Rows are finished where they are made when there are enough to share out.
  if (holds(pattern, "kiln.matmul") && normalizes(pattern))
    base[0] = Expr(128);
  reducedAxes = base.size() > 2 && chance(3) ? 2 : 1;
  missAt = static_cast<unsigned>(below(3));
}

void Maker::setWorld() {
  element = spec->dtype == "f16"   ? Type(b.getF16Type())
            : spec->dtype == "i32" ? Type(b.getI32Type())
                                   : b.getF32Type();
  // Activations: of image models; of products; before attention, and its scores and queries; rows.
  static constexpr int64_t images[][4] = {{1, 16, 14, 14}, {1, 32, 28, 28}, {1, 64, 40, 40}};
  static constexpr int64_t expanded[][4] = {{1, 64, 14, 14}, {1, 384, 14, 14}, {1, 144, 56, 56}};
  static constexpr int64_t products[][2] = {{16, 128}, {64, 256}, {128, 768}};
  // As many rows as are shared out where rows are finished with the product.
  static constexpr int64_t finished[][2] = {{128, 64}, {128, 256}, {128, 768}};
  static constexpr int64_t scores[][4] = {{1, 4, 16, 16}, {1, 12, 64, 64}, {1, 12, 256, 256}};
  static constexpr int64_t tokens[][3] = {{1, 16, 128}, {1, 64, 256}, {1, 128, 768}};
  static constexpr int64_t queries[][4] = {{1, 4, 16, 32}, {1, 8, 64, 64}, {1, 12, 256, 64}};
  static constexpr int64_t groups[][3] = {{1, 4, 784}, {1, 8, 3136}, {1, 16, 6400}};
  static constexpr int64_t rows[][2] = {{16, 64}, {128, 768}, {512, 2048}};
  auto at = static_cast<size_t>(spec->size);
  bool softmax = holds(pattern, "kiln.softmax"), matmul = holds(pattern, "kiln.matmul");
  ArrayRef<int64_t> dims = asks(pattern, "Depthwise")         ? ArrayRef<int64_t>(expanded[at])
                           : isOfImages(pattern)              ? ArrayRef<int64_t>(images[at])
                           : isOfGroups(pattern)              ? ArrayRef<int64_t>(groups[at])
                           : holds(pattern, "kiln.attention") ? ArrayRef<int64_t>(tokens[at])
                           : softmax && matmul                ? ArrayRef<int64_t>(queries[at])
                           : matmul && normalizes(pattern)    ? ArrayRef<int64_t>(finished[at])
                           : matmul                           ? ArrayRef<int64_t>(products[at])
                           : softmax                          ? ArrayRef<int64_t>(scores[at])
                                                              : ArrayRef<int64_t>(rows[at]);
  base.assign(dims.begin(), dims.end());
}

/// The name, or for an op without one, the first that OneOf allows.
StringRef Maker::nameOf(pdl::OperationOp op, pdl::PatternOp pattern) {
  if (op.getOpName())
    return *op.getOpName();
  for (auto call : pattern.getOps<pdl::ApplyNativeConstraintOp>()) {
    if (call.getName() != "OneOf" || call.getArgs()[0] != op.getOp())
      continue;
    auto names = call.getArgs()[1].getDefiningOp<pdl::AttributeOp>();
    auto array = names ? dyn_cast_or_null<ArrayAttr>(names.getValueAttr()) : nullptr;
    if (array && !array.empty())
      if (auto name = dyn_cast<StringAttr>(array[0]))
        return name;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// What a model has as a constant: weights and what is one a channel or column.
bool Maker::isParameter(StringRef opName, size_t index, ArrayRef<Value> known,
                        Value pdlOperand) const {
  if (index == 0)
    return false;
  if (opName == "kiln.matmul" && holds(pattern, "kiln.softmax"))
    return false; // keys and values
  if (opName == "kiln.conv" || opName == "kiln.matmul" || opName == "kiln.prelu" ||
      isAsked(pdlOperand, {"PerChannel", "PerColumn"}))
    return true;
  // Scale and bias behind a normalisation, not the residual before it.
  return isBehindNormalization(known[0]);
}

Shape Maker::modelShapeFor(StringRef opName, size_t index, ArrayRef<Value> known,
                           Value pdlOperand) const {
  auto other = llvm::find_if(known, [](Value value) { return value != nullptr; });
  if (index == 0 || other == known.end())
    return other != known.end() ? shapeOf(*other) : opName == "kiln.gather" ? tableShape() : base;
  Shape shape = shapeOf(*other);
  if (opName == "kiln.gather")
    return Shape(ArrayRef(base).drop_back());
  if (opName == "kiln.conv" && isAskedOfReader(pdlOperand, "Pointwise")) // as bottlenecks do
    return {Expr::floorDiv(shape[1], 4), shape[1], Expr(1), Expr(1)};
  if (opName == "kiln.conv")
    return {shape[1], isAskedOfReader(pdlOperand, "Depthwise") ? Expr(1) : shape[1], Expr(3),
            Expr(3)};
  if (opName == "kiln.matmul" && holds(pattern, "kiln.softmax")) { // keys, then values
    Expr own = shape.back();
    shape.back() = own == base.back() ? shape[shape.size() - 2] : base.back();
    shape[shape.size() - 2] = own;
    return shape;
  }
  if (opName == "kiln.matmul") // the half of a feed-forward layer
    return {shape.back(), spec->size == InstanceSize::Large ? Expr(512) : shape.back()};
  if (opName == "kiln.attention" && index == 3) // one a key
    return {shape[1]};
  bool isVector = isParameter(opName, index, known, pdlOperand);
  if (isAsked(pdlOperand, {"Constant", "Moderate"}) && !isVector) {
    // The bounds of a Clip and the scale of scores are numbers.
    if (opName == "kiln.max" || opName == "kiln.min" || holds(pattern, "kiln.softmax"))
      return {};
    isVector = true;
  }
  if (!isVector)
    return shape;
  if (!holds(pattern, "kiln.conv") && !isAsked(pdlOperand, {"PerChannel"}))
    return {shape.back()};
  Shape channel(shape.size() - 1, Expr(1));
  channel[0] = shape[1];
  return channel;
}

Shape Maker::shapeFor(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand) {
  auto other = llvm::find_if(known, [](Value value) { return value != nullptr; });
  if (opName == "kiln.gather")
    return index == 0 ? tableShape() : Shape(ArrayRef(base).drop_back());
  if (opName == "kiln.conv") {
    if (index == 0)
      return base;
    int64_t kernel = chance(2) ? 1 : 3;
    bool depthwise = chance(3);
    if (isAskedOfReader(pdlOperand, "Depthwise"))
      depthwise = !chance(8);
    if (isAskedOfReader(pdlOperand, "Pointwise"))
      depthwise = chance(8), kernel = chance(8) ? 3 : 1;
    Expr channels = other == known.end() ? base[1] : shapeOf(*other)[1];
    return {depthwise ? channels : Expr(3), depthwise ? Expr(1) : channels, Expr(kernel),
            Expr(kernel)};
  }
  if (opName == "kiln.matmul" && index == 1 && known[0])
    return {shapeOf(known[0]).back(),
            Expr(holds(pattern, "kiln.attention") ? 2 * (1 + below(2)) : 2 + below(5))};
  if (opName == "kiln.attention" && known[1])
    return index < 3 ? shapeOf(known[1]) : Shape{shapeOf(known[1])[1]};
  if (other == known.end())
    return base;
  Shape shape = shapeOf(*other);
  switch (below(5)) {
  case 0: // one number
    return {};
  case 1: // a row
    return shape.empty() ? Shape() : Shape{shape.back()};
  case 2: // a channel
    if (shape.size() >= 2) {
      Shape channel(shape.size() - 1, Expr(1));
      channel[0] = shape[1];
      return channel;
    }
    return shape;
  default:
    return shape;
  }
}

Value Maker::makeConstant(RankedTensorType type, std::optional<Attribute> wanted, bool isWeight) {
  TensorData data(type);
  double number = uniform(0.25, 1.5);
  if (auto fixed = dyn_cast_or_null<FloatAttr>(wanted.value_or(Attribute())))
    number = fixed.getValueAsDouble();
  if (miss == Miss::Number && missSeen++ == missAt)
    number = number * 1.5 + 0.25;
  // As trained weights are: sums of products stay about as large as the factors.
  double reach = 1;
  if (isWeight && isa<FloatType>(element))
    reach /= std::sqrt(
        static_cast<double>(data.size()) /
        static_cast<double>(type.getRank() == 4 ? type.getDimSize(0) : type.getShape().back()));
  for (int64_t i = 0; i < data.size(); ++i) {
    double value = wanted && *wanted ? number
                   : isWeight        ? uniform(-reach, reach)
                                     : uniform(0.25, 1.5);
    if (isa<FloatType>(type.getElementType()))
      data.setFloat(i, value);
    else
      data.setInt(i, static_cast<int64_t>(value * 4));
  }
  return ConstantOp::create(b, loc, elementsAttr(data));
}

Value Maker::operandFor(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand) {
  Shape shape = spec ? modelShapeFor(opName, index, known, pdlOperand)
                     : shapeFor(opName, index, known, pdlOperand);
  if (Value planes = planesOf(pattern))
    shape = planes == pdlOperand ? Shape{base[0], base[1], 1, 1} : base;
  auto wanted = wantedConstant(pdlOperand);
  if (wanted && *wanted) // one number, as exporters write it
    shape = chance(3) ? Shape{Expr(1)} : Shape{};
  bool isCondition = opName == "kiln.select" && index == 0;
  bool isPlace = opName == "kiln.gather" && index == 1;
  RankedTensorType type = tensorType(shape, isCondition ? Type(b.getI1Type())
                                            : isPlace   ? Type(b.getI64Type())
                                                        : element);
  bool isWeight = index == 1 && (opName == "kiln.conv" || opName == "kiln.matmul");
  if (wanted || (spec && isParameter(opName, index, known, pdlOperand)))
    return makeConstant(type, wanted, spec && isWeight);
  return body->addArgument(type, loc);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// For ops whose attributes a pattern leaves open.
Attribute Maker::drawAttribute(StringRef opName, StringRef name, ArrayRef<Value> operands) {
  int64_t rank = rankOf(operands[0]);
  auto ints = [&](int64_t count, int64_t value) {
    return b.getDenseI64ArrayAttr(SmallVector<int64_t>(static_cast<size_t>(count), value));
  };
  if (opName == "kiln.conv" || opName == "kiln.conv_transpose") {
    // Of a pointwise convolution, and what mobile networks pad a depthwise one with.
    bool isPointwise = asks(pattern, "Pointwise") && shapeOf(operands[1])[2].isConstant(1);
    bool isPadded = spec && asks(pattern, "Depthwise") && !isPointwise;
    if (name == "strides")
      return ints(rank - 2, !spec && !isPointwise && chance(3) ? 2 : 1);
    if (name == "dilations")
      return ints(rank - 2, 1);
    if (name == "pads") {
      int64_t pad = isPointwise ? 0 : isPadded ? 1 : chance(2) ? 0 : 1;
      return exprsAttr(b.getContext(), Shape(static_cast<size_t>(2 * (rank - 2)), Expr(pad)));
    }
    if (name == "group") {
      auto channels = shapeOf(operands[0])[1].constant(), own = shapeOf(operands[1])[1].constant();
      return channels && own && *own > 0 ? b.getI64IntegerAttr(*channels / *own) : Attribute();
    }
  }
  if (opName.starts_with("kiln.reduce_")) {
    SmallVector<int64_t> axes;
    for (int64_t axis = std::max<int64_t>(rank - reducedAxes, 0); axis < rank; ++axis)
      axes.push_back(axis);
    if (name == "axes")
      return b.getDenseI64ArrayAttr(axes);
    if (name == "keepdims")
      return b.getBoolAttr(true);
  }
  if (opName == "kiln.resize" && rank == 4) {
    Shape shape = shapeOf(operands[0]);
    if (name == "axes")
      return b.getDenseI64ArrayAttr({2, 3});
    if (name == "sizes")
      return exprsAttr(b.getContext(), Shape{shape[2] * Expr(2), shape[3] * Expr(2)});
    if (name == "scales")
      return b.getDenseF64ArrayAttr({2, 2});
    if (name == "mode")
      return b.getStringAttr("nearest");
    if (name == "coordinates")
      return b.getStringAttr("asymmetric");
  }
  if (opName == "kiln.reshape" && name == "shape" && rank > 0) {
    Shape shape = shapeOf(operands[0]);
    if (isOfGroups(pattern)) { // four channels a group, of two lines
      shape[1] = shape[1] * Expr(4);
      shape.back() = Expr::floorDiv(shape.back(), 8);
      shape.insert(shape.end() - 1, Expr(2));
      return exprsAttr(b.getContext(), shape);
    }
    // heads of two columns
    shape.back() = Expr::floorDiv(shape.back(), 2);
    shape.push_back(2);
    return exprsAttr(b.getContext(), shape);
  }
  if (name == "scale")
    return b.getF64FloatAttr(0.5);
  if (name == "axis") // of rows, of channels, of the last
    return b.getI64IntegerAttr(opName == "kiln.gather"   ? 0
                               : opName == "kiln.concat" ? std::min<int64_t>(1, rank - 1)
                                                         : rank - 1);
  if (name == "epsilon")
    return b.getF64FloatAttr(1e-5);
  if (name == "alpha")
    return b.getF64FloatAttr(0.25);
  if (name == "beta")
    return b.getF64FloatAttr(0.5);
  if (name == "permutation") {
    // Twice the reverse is nothing.
    SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
    if (!spec && chance(4))
      std::shuffle(order.begin(), order.end(), random);
    return b.getDenseI64ArrayAttr(order);
  }
  if (name == "to")
    return TypeAttr::get(b.getF32Type());
  return {};
}

SmallVector<NamedAttribute> Maker::attributesFor(pdl::OperationOp op, ArrayRef<Value> operands) {
  StringRef opName = nameOf(op, pattern);
  NamedAttrList list;
  for (auto [name, value] : llvm::zip(op.getAttributeValueNames(), op.getAttributeValues()))
    if (auto attribute = value.getDefiningOp<pdl::AttributeOp>())
      if (Attribute fixed = attribute.getValueAttr())
        list.set(cast<StringAttr>(name), fixed);
  if (!operands.empty())
    if (auto registered = RegisteredOperationName::lookup(opName, b.getContext()))
      for (StringAttr name : registered->getAttributeNames())
        if (!list.get(name))
          if (Attribute drawn = drawAttribute(opName, name, operands))
            list.set(name, drawn);
  return llvm::to_vector(list.getAttrs());
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

bool Maker::build(pdl::OperationOp op) {
  StringRef name = nameOf(op, pattern);
  SmallVector<Value> operands;
  for (Value operand : op.getOperandValues()) {
    if (isa<pdl::RangeType>(operand.getType()))
      return false;
    if (auto result = operand.getDefiningOp<pdl::ResultOp>())
      operands.push_back(ops.lookup(result.getParent())->getResult(result.getIndex()));
    else
      operands.push_back(values.lookup(operand));
  }
  for (auto [i, operand] : llvm::enumerate(op.getOperandValues()))
    if (!operands[i] && !(operands[i] = values.lookup(operand)))
      operands[i] = values[operand] = operandFor(name, i, operands, operand);
  auto registered = RegisteredOperationName::lookup(name, b.getContext());
  bool ordered = registered && !registered->hasTrait<OpTrait::IsCommutative>();
  if (miss == Miss::Order && ordered && operands.size() == 2 && missSeen++ == missAt)
    std::swap(operands[0], operands[1]);
  auto made = tryBuild(b, loc, name, operands, attributesFor(op, operands));
  if (failed(made))
    return false;
  ops[op.getOp()] = *made;
  return true;
}

OwningOpRef<ModuleOp> Maker::run() {
  drawWorld();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(b, loc, "main", b.getFunctionType({}, {}));
  body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);
  Operation *last = nullptr;
  for (auto op : pattern.getOps<pdl::OperationOp>()) {
    if (!build(op))
      return nullptr;
    last = ops[op.getOp()];
  }
  SmallVector<Value> results(last->getResults());
  if (miss == Miss::Reader) {
    SmallVector<Value> inside;
    for (Operation &op : *body)
      if (&op != last && !op.hasTrait<OpTrait::ConstantLike>())
        llvm::append_range(inside, op.getResults());
    if (inside.empty())
      return nullptr;
    results.push_back(inside[static_cast<size_t>(below(static_cast<int64_t>(inside.size())))]);
  }
  func::ReturnOp::create(b, loc, results);
  function.setFunctionType(
      b.getFunctionType(body->getArgumentTypes(), ValueRange(results).getTypes()));
  for (unsigned i = 0; i < body->getNumArguments(); ++i)
    function.setArgAttr(i, nameAttr, b.getStringAttr("x" + std::to_string(i)));
  for (unsigned i = 0; i < results.size(); ++i)
    function.setResultAttr(i, nameAttr, b.getStringAttr("y" + std::to_string(i)));
  // A change that there was nothing for is none.
  bool changed = miss == Miss::None || miss == Miss::Reader || missSeen > missAt;
  return changed ? std::move(module) : nullptr;
}

OwningOpRef<ModuleOp> kiln::makeInstance(pdl::PatternOp pattern, Miss miss, Random &random) {
  return Maker(pattern, miss, random).run();
}

//===----------------------------------------------------------------------===//
// Sizes of real models
//===----------------------------------------------------------------------===//

static constexpr StringLiteral sizeNames[] = {"small", "medium", "large"};

StringRef kiln::sizeName(InstanceSize size) { return sizeNames[static_cast<size_t>(size)]; }

std::optional<InstanceSize> kiln::sizeNamed(StringRef name) {
  for (InstanceSize size : allInstanceSizes)
    if (sizeName(size) == name)
      return size;
  return std::nullopt;
}

ArrayRef<StringLiteral> kiln::instanceTypes() {
  static constexpr StringLiteral types[] = {"f32", "f16", "i32"};
  return types;
}

/// Variants of a pattern are NAME#0, NAME#1 ...
static StringRef withoutVariant(StringRef name) { return name.split('#').first; }

std::vector<std::string> kiln::patternNames(const Rule &rule) {
  std::set<std::string> names;
  for (const RulePattern &pattern : rule.patterns)
    names.insert(withoutVariant(pattern.name).str());
  return {names.begin(), names.end()};
}

pdl::PatternOp kiln::fullestVariant(ModuleOp rule, StringRef pattern) {
  pdl::PatternOp fullest;
  ptrdiff_t most = 0;
  for (auto variant : rule.getOps<pdl::PatternOp>()) {
    auto ops = variant.getOps<pdl::OperationOp>();
    ptrdiff_t count = std::distance(ops.begin(), ops.end());
    if (withoutVariant(*variant.getSymName()) == pattern && count > most) {
      fullest = variant;
      most = count;
    }
  }
  return fullest;
}

OwningOpRef<ModuleOp> kiln::makeInstance(const Rule &rule, StringRef pattern,
                                         const InstanceSpec &spec, MLIRContext &context) {
  // Draws that do not fit the ops are no news.
  ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return success(); });
  auto pdl = parseSourceString<ModuleOp>(rule.bytecode, &context);
  pdl::PatternOp fullest = pdl ? fullestVariant(*pdl, pattern) : nullptr;
  if (!fullest)
    return nullptr;
  Random random(spec.seed);
  return Maker(fullest, Miss::None, random, &spec).run();
}
