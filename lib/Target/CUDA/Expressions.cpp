//===- Expressions.cpp - Scalar ops as C++ expressions --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodePrinter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace kiln;

namespace {
/// Builds the text of one op.
class Expression {
public:
  Expression(Operation &op, ArrayRef<std::string> operands)
      : op(op), in(operands), type(op.getResult(0).getType()) {}

  std::string build();

private:
  Type operandType() const { return op.getOperand(0).getType(); }
  static std::string cast(std::string to, std::string value) { return to + "(" + value + ")"; }
  static std::string call(StringRef function, ArrayRef<std::string> arguments) {
    return (function + "(" + llvm::join(arguments, ", ") + ")").str();
  }
  static std::string group(const std::string &a, StringRef sign, const std::string &b) {
    return ("(" + a + " " + sign + " " + b + ")").str();
  }
  static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

  std::string constant(Attribute value);
  /// An operand as an unsigned number.
  std::string unsignedOf(unsigned i) {
    Type type = op.getOperand(i).getType();
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    return width == 1 ? in[i] : cast("uint" + std::to_string(width) + "_t", in[i]);
  }
  /// Wraps to the width: signed overflow means nothing in C++, and what is
  /// narrower than int is widened to it.
  std::string wrapping(StringRef sign) {
    // Sizes and places do not overflow.
    if (type.isIndex())
      return group(in[0], sign, in[1]);
    if (type.isInteger(1))
      return cast("bool", group(in[0], sign, in[1]) + " & 1");
    return cast(CodePrinter::typeOf(type), unsignedOf(0) + " " + sign.str() + " " + unsignedOf(1));
  }
  std::string onUnsigned(StringRef sign) {
    return cast(CodePrinter::typeOf(type), unsignedOf(0) + " " + sign.str() + " " + unsignedOf(1));
  }
  std::string onSigned(StringRef sign) {
    std::string value = group(in[0], sign, in[1]);
    return type.isIndex() || type.getIntOrFloatBitWidth() >= 32
               ? value
               : cast(CodePrinter::typeOf(type), value);
  }
  /// An operand to compute with: halves do it in float.
  std::string wide(unsigned i) {
    return isHalf(op.getOperand(i).getType()) ? cast("float", in[i]) : in[i];
  }
  std::string rounded(std::string value) {
    return isHalf(type) ? cast(CodePrinter::typeOf(type), std::move(value)) : value;
  }
  std::string arithmetic(StringRef sign) { return rounded(group(wide(0), sign, wide(1))); }
  /// A function of the C library, or of Kiln's when its name has a namespace.
  std::string function(StringRef name) {
    SmallVector<std::string> arguments;
    for (unsigned i = 0; i < in.size(); ++i)
      arguments.push_back(wide(i));
    bool isOwn = name.contains(':');
    return rounded(call(isOwn || type.isF64() ? name.str() : name.str() + "f", arguments));
  }
  std::string compare(arith::CmpIPredicate predicate);
  std::string compare(arith::CmpFPredicate predicate);
  std::string convert() { return cast(CodePrinter::typeOf(type), in[0]); }

  Operation &op;
  ArrayRef<std::string> in;
  Type type;
};
} // namespace

std::string Expression::constant(Attribute value) {
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    if (type.isInteger(1))
      return number.getValue().isZero() ? "false" : "true";
    int64_t exact = number.getValue().getSExtValue();
    bool isLong = type.isIndex() || type.getIntOrFloatBitWidth() == 64;
    // Their digits would be a number of the next larger type.
    if (exact == INT64_MIN || exact == INT32_MIN)
      return exact == INT64_MIN ? "INT64_MIN" : "INT32_MIN";
    std::string digits =
        std::to_string(exact) + (isLong && exact != static_cast<int32_t>(exact) ? "ll" : "");
    // Those of less than a byte have no literals.
    if (!type.isIndex() && type.getIntOrFloatBitWidth() < 8)
      return cast(CodePrinter::typeOf(type), digits);
    return exact < 0 ? "(" + digits + ")" : digits;
  }
  auto number = dyn_cast<FloatAttr>(value);
  if (!number)
    return "";
  APFloat exact = number.getValue();
  std::string name = CodePrinter::typeOf(type);
  if (!exact.isFinite() || isHalf(type)) {
    uint64_t bits = exact.bitcastToAPInt().getZExtValue();
    return "kiln::fromBits<" + name + ">(0x" + llvm::utohexstr(bits, true) +
           (type.isF64() ? "ull)" : "u)");
  }
  std::string digits;
  llvm::raw_string_ostream os(digits);
  if (type.isF64())
    os << llvm::format("%.17g", exact.convertToDouble());
  else
    os << llvm::format("%.9g", static_cast<double>(exact.convertToFloat()));
  if (StringRef(digits).find_first_of(".e") == StringRef::npos)
    digits += ".0";
  if (!type.isF64())
    digits += "f";
  return exact.isNegative() ? "(" + digits + ")" : digits;
}

std::string Expression::compare(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  StringRef sign;
  switch (predicate) {
  case P::eq:
    sign = "==";
    break;
  case P::ne:
    sign = "!=";
    break;
  case P::slt:
  case P::ult:
    sign = "<";
    break;
  case P::sle:
  case P::ule:
    sign = "<=";
    break;
  case P::sgt:
  case P::ugt:
    sign = ">";
    break;
  case P::sge:
  case P::uge:
    sign = ">=";
    break;
  }
  bool isUnsigned = predicate >= P::ult;
  // As a number of one bit, true is the smaller one.
  if (operandType().isInteger(1) && !isUnsigned && sign != "==" && sign != "!=")
    return group(in[1], sign, in[0]);
  return isUnsigned ? group(unsignedOf(0), sign, unsignedOf(1)) : group(in[0], sign, in[1]);
}

std::string Expression::compare(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  std::string a = wide(0), b = wide(1);
  auto is = [&](StringRef sign) { return group(a, sign, b); };
  auto isNot = [&](StringRef sign) { return "!" + group(a, sign, b); };
  switch (predicate) {
  case P::AlwaysFalse:
    return "false";
  case P::AlwaysTrue:
    return "true";
  case P::OEQ:
    return is("==");
  case P::UNE:
    return is("!=");
  case P::OLT:
    return is("<");
  case P::OLE:
    return is("<=");
  case P::OGT:
    return is(">");
  case P::OGE:
    return is(">=");
  case P::ULT:
    return isNot(">=");
  case P::ULE:
    return isNot(">");
  case P::UGT:
    return isNot("<=");
  case P::UGE:
    return isNot("<");
  case P::ONE:
    return call("kiln::isOrderedNotEqual", {a, b});
  case P::UEQ:
    return "!" + call("kiln::isOrderedNotEqual", {a, b});
  case P::ORD:
    return call("kiln::isOrdered", {a, b});
  case P::UNO:
    return "!" + call("kiln::isOrdered", {a, b});
  }
  llvm_unreachable("unknown predicate");
}

std::string Expression::build() {
  std::string name = CodePrinter::typeOf(type);
  return llvm::TypeSwitch<Operation *, std::string>(&op)
      .Case([&](arith::ConstantOp constant) { return this->constant(constant.getValue()); })
      .Case([&](arith::SelectOp) { return "(" + in[0] + " ? " + in[1] + " : " + in[2] + ")"; })
      // Integers
      .Case([&](arith::AddIOp) { return wrapping("+"); })
      .Case([&](arith::SubIOp) { return wrapping("-"); })
      .Case([&](arith::MulIOp) { return wrapping("*"); })
      .Case([&](arith::DivSIOp) { return onSigned("/"); })
      .Case([&](arith::RemSIOp) { return onSigned("%"); })
      .Case([&](arith::DivUIOp) { return onUnsigned("/"); })
      .Case([&](arith::RemUIOp) { return onUnsigned("%"); })
      .Case([&](arith::CeilDivSIOp) { return call("kiln::ceilDiv", in); })
      .Case([&](arith::FloorDivSIOp) { return call("kiln::floorDiv", in); })
      .Case([&](arith::AndIOp) { return onSigned("&"); })
      .Case([&](arith::OrIOp) { return onSigned("|"); })
      .Case([&](arith::XOrIOp) { return onSigned("^"); })
      .Case([&](arith::ShLIOp) { return onUnsigned("<<"); })
      .Case([&](arith::ShRUIOp) { return onUnsigned(">>"); })
      .Case([&](arith::ShRSIOp) { return onSigned(">>"); })
      .Case([&](arith::MinSIOp) { return call("kiln::smaller", in); })
      .Case([&](arith::MaxSIOp) { return call("kiln::larger", in); })
      .Case([&](arith::MinUIOp) {
        return cast(name, call("kiln::smaller", {unsignedOf(0), unsignedOf(1)}));
      })
      .Case([&](arith::MaxUIOp) {
        return cast(name, call("kiln::larger", {unsignedOf(0), unsignedOf(1)}));
      })
      .Case([&](arith::CmpIOp compare) { return this->compare(compare.getPredicate()); })
      .Case([&](arith::ExtSIOp) {
        return operandType().isInteger(1) ? "(" + in[0] + " ? " + name + "(-1) : " + name + "(0))"
                                          : convert();
      })
      .Case([&](arith::ExtUIOp) { return cast(name, unsignedOf(0)); })
      .Case([&](arith::TruncIOp) {
        return type.isInteger(1) ? cast("bool", in[0] + " & 1") : convert();
      })
      .Case([&](arith::IndexCastOp) {
        // A bit as a signed number is 0 or -1.
        return operandType().isInteger(1) ? "(-int64_t(" + in[0] + "))" : convert();
      })
      .Case([&](arith::IndexCastUIOp) { return cast(name, unsignedOf(0)); })
      // Floats
      .Case([&](arith::AddFOp) { return arithmetic("+"); })
      .Case([&](arith::SubFOp) { return arithmetic("-"); })
      .Case([&](arith::MulFOp) { return arithmetic("*"); })
      .Case([&](arith::DivFOp) { return arithmetic("/"); })
      .Case([&](arith::RemFOp) { return function("fmod"); })
      .Case([&](arith::NegFOp) { return rounded("(-" + wide(0) + ")"); })
      .Case([&](arith::MaximumFOp) { return function("kiln::maximum"); })
      .Case([&](arith::MinimumFOp) { return function("kiln::minimum"); })
      .Case([&](arith::MaxNumFOp) { return function("fmax"); })
      .Case([&](arith::MinNumFOp) { return function("fmin"); })
      .Case([&](arith::CmpFOp compare) { return this->compare(compare.getPredicate()); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) {
        return isHalf(type) && isHalf(operandType()) ? cast(name, wide(0)) : convert();
      })
      .Case([&](arith::SIToFPOp) {
        std::string value = operandType().isInteger(1) ? "-int(" + in[0] + ")" : in[0];
        return cast(name, isHalf(type) ? cast("float", value) : value);
      })
      .Case([&](arith::UIToFPOp) {
        return cast(name, isHalf(type) ? cast("float", unsignedOf(0)) : unsignedOf(0));
      })
      .Case([&](arith::FPToSIOp) { return cast("kiln::toInteger<" + name + ">", wide(0)); })
      .Case([&](arith::FPToUIOp) {
        return cast(name, cast("kiln::toInteger<u" + name + ">", wide(0)));
      })
      .Case([&](arith::BitcastOp) { return cast("kiln::bitCast<" + name + ">", in[0]); })
      // Functions
      .Case([&](math::AbsFOp) { return function("fabs"); })
      .Case([&](math::CeilOp) { return function("ceil"); })
      .Case([&](math::FloorOp) { return function("floor"); })
      .Case([&](math::RoundEvenOp) { return function("rint"); })
      .Case([&](math::RoundOp) { return function("round"); })
      .Case([&](math::TruncOp) { return function("trunc"); })
      .Case([&](math::SqrtOp) { return function("sqrt"); })
      .Case([&](math::CopySignOp) { return function("copysign"); })
      .Case([&](math::FmaOp) { return function("fma"); })
      .Default([](Operation *) { return std::string(); });
}

std::string kiln::expressionOf(Operation &op, ArrayRef<std::string> operands) {
  return Expression(op, operands).build();
}
