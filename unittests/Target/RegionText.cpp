//===- RegionText.cpp - MLIR text of contractions -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionText.h"
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
