//===- TensorTypes.cpp - Symbolic shapes of tensor types ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/TensorTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace kiln;

Shape kiln::shapeOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  Shape shape;
  unsigned next = 0;
  for (int64_t size : tensor.getShape()) {
    if (!ShapedType::isDynamic(size))
      shape.push_back(size);
    else if (dims)
      shape.push_back(*Expr::parse(dims.getExprs()[next++].getValue()));
    else
      // Only hand-written IR lacks the encoding: a size nothing else equals.
      shape.push_back(Expr::symbol("anonymous"));
  }
  return shape;
}

RankedTensorType kiln::tensorType(ArrayRef<Expr> shape, Type elementType) {
  SmallVector<int64_t> sizes;
  SmallVector<StringAttr> exprs;
  for (const Expr &dim : shape) {
    sizes.push_back(dim.constant().value_or(ShapedType::kDynamic));
    if (!dim.constant())
      exprs.push_back(StringAttr::get(elementType.getContext(), dim.str()));
  }
  Attribute encoding;
  if (!exprs.empty())
    encoding = DimsAttr::get(elementType.getContext(), exprs);
  return RankedTensorType::get(sizes, elementType, encoding);
}

ExprsAttr kiln::exprsAttr(MLIRContext *context, ArrayRef<Expr> exprs) {
  SmallVector<StringAttr> texts;
  for (const Expr &expr : exprs)
    texts.push_back(StringAttr::get(context, expr.str()));
  return ExprsAttr::get(context, texts);
}

Shape kiln::exprsOf(ExprsAttr attr) {
  Shape exprs;
  for (StringAttr text : attr.getExprs())
    exprs.push_back(*Expr::parse(text.getValue()));
  return exprs;
}

Expr kiln::elementCount(ArrayRef<Expr> shape) {
  Expr count = 1;
  for (const Expr &dim : shape)
    count = count * dim;
  return count;
}

FailureOr<Shape> kiln::broadcastShapes(ArrayRef<Expr> a, ArrayRef<Expr> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a.begin(), a.end());
  size_t lead = a.size() - b.size();
  for (auto [i, dim] : llvm::enumerate(b)) {
    const Expr &other = a[lead + i];
    auto x = other.constant(), y = dim.constant();
    if (x && y && *x != *y && *x != 1 && *y != 1)
      return failure();
    result[lead + i] = Expr::bcast(other, dim);
  }
  return result;
}

LogicalResult kiln::checkAxis(std::optional<Location> loc, uint64_t axis, size_t rank) {
  if (axis >= rank)
    return emitOptionalError(loc, "(C1) axis ", static_cast<int64_t>(axis),
                             " is out of range for rank ", rank);
  return success();
}

bool kiln::anyNegative(ArrayRef<Expr> sizes) {
  return llvm::any_of(sizes, [](const Expr &size) { return size.constant().value_or(0) < 0; });
}

std::optional<int64_t> kiln::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<double> kiln::splatOf(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  Type type = constant.getElementType();
  if (isa<FloatType>(type))
    return constant.getSplatValue<APFloat>().convertToDouble();
  APInt number = constant.getSplatValue<APInt>();
  bool isSigned = !type.isUnsignedInteger() && !type.isInteger(1);
  return number.roundToDouble(isSigned);
}

namespace {
/// An op's properties before there is an op: inference reads them.
class ScratchProperties {
public:
  ScratchProperties(OperationName name)
      : name(name), storage(llvm::divideCeil(name.getOpPropertyByteSize(), 8)) {
    if (!storage.empty())
      name.initOpProperties(get(), nullptr);
  }
  ~ScratchProperties() {
    if (!storage.empty())
      name.destroyOpProperties(get());
  }
  OpaqueProperties get() {
    return storage.empty() ? OpaqueProperties(nullptr) : OpaqueProperties(storage.data());
  }

private:
  OperationName name;
  SmallVector<uint64_t> storage;
};
} // namespace

/// Sizes are computed in 64 bits, and wrap: what is known of them must not have
/// done so.
static bool hasSaneSizes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  size_t named = dims ? dims.getExprs().size() : 0;
  if (static_cast<size_t>(tensor.getNumDynamicDims()) != named)
    return false;
  double elements = 1;
  for (int64_t size : tensor.getShape()) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size < 0)
      return false;
    elements *= static_cast<double>(size);
  }
  return elements <= 0x1p62;
}

OperandCount kiln::operandCountOf(OperationName name) {
  if (name.hasTrait<OpTrait::ZeroOperands>())
    return {0, 0};
  if (name.hasTrait<OpTrait::OneOperand>())
    return {1, 1};
  if (name.hasTrait<OpTrait::NOperands<2>::Impl>())
    return {2, 2};
  if (name.hasTrait<OpTrait::NOperands<3>::Impl>())
    return {3, 3};
  if (name.hasTrait<OpTrait::NOperands<4>::Impl>())
    return {4, 4};
  if (name.hasTrait<OpTrait::AtLeastNOperands<1>::Impl>())
    return {1, std::nullopt};
  if (name.hasTrait<OpTrait::AtLeastNOperands<2>::Impl>())
    return {2, std::nullopt};
  if (name.hasTrait<OpTrait::AtLeastNOperands<3>::Impl>())
    return {3, std::nullopt};
  return {0, std::nullopt};
}

/// Inference of types reads operands and attributes, and takes for granted that
/// they are there.
static LogicalResult checkParts(OperationName name, Location loc, ValueRange operands,
                                DictionaryAttr attributes, OpaqueProperties properties) {
  OperandCount count = operandCountOf(name);
  if (!count.takes(operands.size()))
    return emitError(loc) << name << " has " << count.least << (count.most ? "" : " or more")
                          << " operands, not " << operands.size();
  if (name.hasTrait<OpTrait::AttrSizedOperandSegments>()) {
    auto sizes = attributes.getAs<DenseI32ArrayAttr>("operandSegmentSizes");
    int64_t sum = 0;
    for (int32_t size : sizes ? sizes.asArrayRef() : ArrayRef<int32_t>())
      sum += size >= 0 ? size : std::numeric_limits<int32_t>::min();
    if (sum != static_cast<int64_t>(operands.size()))
      return emitError(loc) << name << " does not say which of its operands are given";
  }
  auto *dialect = dyn_cast_if_present<KilnDialect>(name.getDialect());
  return dialect
             ? dialect->checkAttributes(name.getStringRef(), loc, operands, attributes, properties)
             : success();
}

FailureOr<Operation *> kiln::tryBuild(OpBuilder &b, Location loc, StringRef opName,
                                      ValueRange operands, ArrayRef<NamedAttribute> attributes) {
  OperationName name(opName, b.getContext());
  if (!name.isRegistered())
    return emitError(loc) << "no op is called " << opName;
  auto *inference = name.getInterface<InferTypeOpInterface>();
  if (!inference)
    return emitError(loc) << "the types of " << name << " do not follow from its operands";
  DictionaryAttr dictionary = b.getDictionaryAttr(attributes);
  ScratchProperties properties(name);
  if (properties.get() && failed(name.setOpPropertiesFromAttribute(
                              name, properties.get(), dictionary, [&] { return emitError(loc); })))
    return failure();
  SmallVector<Type> types;
  if (failed(checkParts(name, loc, operands, dictionary, properties.get())) ||
      failed(inference->inferReturnTypes(b.getContext(), loc, operands, dictionary,
                                         properties.get(), {}, types)))
    return failure();
  for (Type type : types)
    if (!hasSaneSizes(type))
      return emitError(loc) << "a result has more elements than can be counted";
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(types);
  Operation *op = b.create(state);
  if (succeeded(verify(op, /*verifyRecursively=*/false)))
    return op;
  // Who heard of the op must hear that it is gone.
  if (auto *listener = dyn_cast_if_present<RewriterBase::Listener>(b.getListener()))
    listener->notifyOperationErased(op);
  op->erase();
  return failure();
}

int64_t kiln::broadcastIndex(ArrayRef<int64_t> operandShape, ArrayRef<int64_t> resultShape,
                             int64_t flat) {
  int64_t index = 0, stride = 1;
  size_t lead = resultShape.size() - operandShape.size();
  for (size_t i = resultShape.size(); i-- > 0;) {
    int64_t at = flat % resultShape[i];
    flat /= resultShape[i];
    if (i < lead)
      continue;
    int64_t size = operandShape[i - lead];
    if (size != 1)
      index += at * stride;
    stride *= size;
  }
  return index;
}
