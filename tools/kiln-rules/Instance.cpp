//===- Instance.cpp - Random graphs that a pattern is about ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instance.h"
#include "dialects/Kiln/IR/ModelAttributes.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "kiln/Reference/TensorData.h"
#include "mlir/Dialect/PDL/IR/PDLTypes.h"

using namespace mlir;
using namespace kiln;

namespace {
class Maker {
public:
  Maker(pdl::PatternOp pattern, Miss miss, Random &random)
      : pattern(pattern), miss(miss), random(random), b(pattern.getContext()) {}

  OwningOpRef<ModuleOp> run();

private:
  int64_t below(int64_t count) { return static_cast<int64_t>(random() % uint64_t(count)); }
  bool chance(int64_t in) { return below(in) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  }

  void drawWorld();
  bool build(pdl::OperationOp op);
  Value operandFor(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand);
  Shape shapeFor(StringRef opName, size_t index, ArrayRef<Value> known);
  Value makeValue(RankedTensorType type, Value pdlOperand);
  SmallVector<NamedAttribute> attributesFor(pdl::OperationOp op, ArrayRef<Value> operands);
  Attribute drawAttribute(StringRef opName, StringRef name, ArrayRef<Value> operands);
  static StringRef nameOf(pdl::OperationOp op, pdl::PatternOp pattern);

  pdl::PatternOp pattern;
  Miss miss;
  Random &random;
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

static bool holds(pdl::PatternOp pattern, StringRef op) {
  return llvm::any_of(pattern.getOps<pdl::OperationOp>(),
                      [&](pdl::OperationOp one) { return one.getOpName() == op; });
}

void Maker::drawWorld() {
  element = chance(5) ? Type(b.getF16Type()) : chance(8) ? Type(b.getI32Type()) : b.getF32Type();
  if (holds(pattern, "kiln.conv")) {
    base = {Expr(1 + below(2)), Expr(4), Expr(5 + below(2)), Expr(5 + below(3))};
  } else {
    for (int64_t i = 0, rank = 2 + below(3); i < rank; ++i)
      base.push_back(Expr(2 + below(4)));
  }
  // Rows are finished where they are made when there are enough to share out.
  if (holds(pattern, "kiln.matmul") &&
      (holds(pattern, "kiln.standardize") || holds(pattern, "kiln.rms_normalize")))
    base[0] = Expr(128);
  reducedAxes = base.size() > 2 && chance(3) ? 2 : 1;
  missAt = static_cast<unsigned>(below(3));
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

Shape Maker::shapeFor(StringRef opName, size_t index, ArrayRef<Value> known) {
  auto other = llvm::find_if(known, [](Value value) { return value != nullptr; });
  if (opName == "kiln.conv") {
    if (index == 0)
      return base;
    int64_t kernel = chance(2) ? 1 : 3;
    bool depthwise = chance(3);
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

/// What constraints ask of a constant: null, a number, or anything.
static std::optional<Attribute> wantedConstant(Value pdlOperand) {
  std::optional<Attribute> wanted;
  for (Operation *user : pdlOperand.getUsers()) {
    auto call = dyn_cast<pdl::ApplyNativeConstraintOp>(user);
    if (!call || call.getArgs()[0] != pdlOperand)
      continue;
    StringRef name = call.getName();
    name.consume_front("kiln.holds.");
    if (name == "Splat")
      if (auto number = call.getArgs()[1].getDefiningOp<pdl::AttributeOp>())
        return number.getValueAttr();
    if (name == "Scalar")
      wanted = UnitAttr::get(pdlOperand.getContext());
    else if (!wanted && (name == "Constant" || name == "Moderate"))
      wanted = Attribute();
  }
  return wanted;
}

Value Maker::makeValue(RankedTensorType type, Value pdlOperand) {
  auto wanted = wantedConstant(pdlOperand);
  if (!wanted)
    return body->addArgument(type, loc);
  TensorData data(type);
  double number = uniform(0.25, 1.5);
  if (auto fixed = dyn_cast_or_null<FloatAttr>(*wanted))
    number = fixed.getValueAsDouble();
  if (miss == Miss::Number && missSeen++ == missAt)
    number = number * 1.5 + 0.25;
  for (int64_t i = 0; i < data.size(); ++i) {
    double value = *wanted ? number : uniform(0.25, 1.5);
    if (isa<FloatType>(element))
      data.setFloat(i, value);
    else
      data.setInt(i, static_cast<int64_t>(value * 4));
  }
  return ConstantOp::create(b, loc, elementsAttr(data));
}

Value Maker::operandFor(StringRef opName, size_t index, ArrayRef<Value> known, Value pdlOperand) {
  Shape shape = shapeFor(opName, index, known);
  auto wanted = wantedConstant(pdlOperand);
  if (wanted && *wanted) // one number, as exporters write it
    shape = chance(3) ? Shape{Expr(1)} : Shape{};
  bool isCondition = opName == "kiln.select" && index == 0;
  return makeValue(tensorType(shape, isCondition ? Type(b.getI1Type()) : element), pdlOperand);
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
    if (name == "strides")
      return ints(rank - 2, chance(3) ? 2 : 1);
    if (name == "dilations")
      return ints(rank - 2, 1);
    if (name == "pads")
      return exprsAttr(b.getContext(),
                       Shape(static_cast<size_t>(2 * (rank - 2)), Expr(chance(2) ? 0 : 1)));
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
  if (opName == "kiln.reshape" && name == "shape" && rank > 0) { // heads of two columns
    Shape shape = shapeOf(operands[0]);
    shape.back() = Expr::floorDiv(shape.back(), 2);
    shape.push_back(2);
    return exprsAttr(b.getContext(), shape);
  }
  if (name == "scale")
    return b.getF64FloatAttr(0.5);
  if (name == "axis")
    return b.getI64IntegerAttr(rank - 1);
  if (name == "epsilon")
    return b.getF64FloatAttr(1e-5);
  if (name == "alpha")
    return b.getF64FloatAttr(0.25);
  if (name == "beta")
    return b.getF64FloatAttr(0.5);
  if (name == "permutation") {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
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
