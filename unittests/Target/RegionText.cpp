//===- RegionText.cpp - MLIR text of contractions -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionText.h"
#include "kiln/Support/Expr.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace kiln;

std::string kiln::tensorText(const std::vector<std::string> &dims, const std::string &element) {
  std::string text = "tensor<", exprs;
  for (const std::string &dim : dims) {
    bool isConstant = dim.find_first_not_of("0123456789") == std::string::npos;
    text += (isConstant ? dim : "?") + "x";
    if (!isConstant)
      exprs += (exprs.empty() ? "\"" : ", \"") + dim + "\"";
  }
  return text + element + (exprs.empty() ? ">" : ", #kiln.dims<" + exprs + ">>");
}

std::string kiln::constantText(int64_t elements, const std::string &element) {
  int64_t width = element == "f64" || element == "i64"   ? 8
                  : element == "f32" || element == "i32" ? 4
                                                         : 2;
  std::string hex = "0x";
  uint64_t state = 12345;
  for (int64_t i = 0; i < elements; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    double value = static_cast<double>(static_cast<int64_t>(state >> 33) % 512 - 256) / 128;
    uint64_t bits = 0;
    if (element == "f32") {
      float f = static_cast<float>(value);
      memcpy(&bits, &f, 4);
    } else if (element == "f64") {
      memcpy(&bits, &value, 8);
    } else if (element == "bf16") {
      float f = static_cast<float>(value);
      uint32_t word;
      memcpy(&word, &f, 4);
      bits = word >> 16;
    } else if (element == "f16") {
      // Powers of two of either sign.
      bits = (state & 1 ? 0x8000u : 0u) | static_cast<uint64_t>(12 + (state >> 40) % 5) << 10;
    } else {
      bits = static_cast<uint64_t>(static_cast<int64_t>(value * 128));
    }
    for (int64_t byte = 0; byte < width; ++byte)
      hex += llvm::formatv("{0:X-2}", (bits >> (8 * byte)) & 255).str();
  }
  return hex;
}

std::string kiln::matMulText(const MatMulCase &c) {
  std::string a = tensorText(c.a, c.element), b = tensorText(c.b, c.element),
              y = tensorText(c.y, c.element);
  std::string text = "func.func @f(%a: " + a;
  if (!c.constantB)
    text += ", %b: " + b;
  text += c.extraArguments + ") -> " + y + " {\n";
  if (c.constantB) {
    int64_t count = 1;
    for (const std::string &dim : c.b)
      count *= std::stoll(dim);
    text += "%b = kiln.constant dense<\"" + constantText(count, c.element) + "\"> : " + b + "\n";
  }
  text +=
      llvm::formatv("%y = kiln.matmul %a, %b {{trans_a = {0}, trans_b = {1}} : ({2}, {3}) -> {4}\n",
                    c.transA ? "true" : "false", c.transB ? "true" : "false", a, b, y)
          .str();
  text += c.epilogue;
  return text + "return " + (c.epilogue.empty() ? "%y" : "%z") + " : " + y + " }";
}

static std::vector<int64_t> orOnes(const std::vector<int64_t> &values, size_t count) {
  return values.empty() ? std::vector<int64_t>(count, 1) : values;
}

static std::string listed(const std::vector<int64_t> &values) {
  std::string text = "array<i64: ";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ">";
}

static std::vector<std::string> padsOf(const ConvCase &c) {
  return c.pads.empty() ? std::vector<std::string>(2 * (c.x.size() - 2), "0") : c.pads;
}

std::vector<std::string> kiln::convResult(const ConvCase &c) {
  size_t spatial = c.x.size() - 2;
  auto strides = orOnes(c.strides, spatial), dilations = orOnes(c.dilations, spatial);
  auto pads = padsOf(c);
  Expr outputs = *Expr::parse(c.transposed ? c.w[1] : c.w[0]) * Expr(c.transposed ? c.group : 1);
  std::vector<std::string> result = {c.x[0], outputs.str().str()};
  for (size_t d = 0; d < spatial; ++d) {
    Expr in = *Expr::parse(c.x[d + 2]), stride = strides[d];
    Expr extent = (*Expr::parse(c.w[d + 2]) - Expr(1)) * Expr(dilations[d]) + Expr(1);
    Expr around = *Expr::parse(pads[d]) + *Expr::parse(pads[d + spatial]);
    Expr size = c.transposed ? (in - Expr(1)) * stride + extent - around +
                                   Expr(c.outputPadding.empty() ? 0 : c.outputPadding[d])
                             : Expr::floorDiv(in + around - extent + stride, stride);
    result.push_back(size.str().str());
  }
  return result;
}

std::string kiln::convText(const ConvCase &c) {
  size_t spatial = c.x.size() - 2;
  std::string x = tensorText(c.x, c.element), w = tensorText(c.w, c.element),
              y = tensorText(convResult(c), c.element);
  std::string text = "func.func @f(%x: " + x;
  if (!c.constantW)
    text += ", %w: " + w;
  text += c.extraArguments + ") -> " + y + " {\n";
  if (c.constantW) {
    int64_t count = 1;
    for (const std::string &dim : c.w)
      count *= std::stoll(dim);
    text += "%w = kiln.constant dense<\"" + constantText(count, c.element) + "\"> : " + w + "\n";
  }
  std::string pads;
  for (const std::string &pad : padsOf(c))
    pads += (pads.empty() ? "\"" : ", \"") + pad + "\"";
  text += std::string("%y = kiln.") + (c.transposed ? "conv_transpose" : "conv") +
          " %x, %w {strides = " + listed(orOnes(c.strides, spatial)) +
          ", dilations = " + listed(orOnes(c.dilations, spatial)) + ", pads = #kiln.exprs<" + pads +
          ">, group = " + std::to_string(c.group);
  if (c.transposed)
    text += ", output_padding = " +
            listed(c.outputPadding.empty() ? std::vector<int64_t>(spatial, 0) : c.outputPadding);
  text += "} : (" + x + ", " + w + ") -> " + y + "\n";
  std::string epilogue = c.epilogue;
  for (size_t at; (at = epilogue.find("$y")) != std::string::npos;)
    epilogue.replace(at, 2, y);
  text += epilogue;
  return text + "return " + (epilogue.empty() ? "%y" : "%z") + " : " + y + " }";
}
