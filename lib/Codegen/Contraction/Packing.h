//===- Packing.h - Constants as panels --------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_PACKING_H
#define KILN_LIB_CODEGEN_CONTRACTION_PACKING_H

#include "kiln/Codegen/Contraction.h"

namespace kiln::contraction {

/// Elements of a constant in the type that they are multiplied in.
struct Elements {
  const char *bytes = nullptr;
  int64_t width = 0;
  llvm::SmallVector<char, 0> widened;
  const char *at(int64_t i) const { return bytes + i * width; }
};
Elements accumulatorElements(mlir::RankedTensorType type, const char *bytes);

/// Where the weights of a convolution lie. Those of a transposed one are
/// [channel][output], with their taps turned round.
struct WeightOrder {
  WeightOrder(mlir::RankedTensorType type, int64_t group, bool transposed);
  /// Outputs and channels are a group's.
  int64_t outputs, channels, taps = 1;
  int64_t position(int64_t group, int64_t output, int64_t channel, int64_t tap) const {
    return transposed ? ((group * channels + channel) * outputs + output) * taps + taps - 1 - tap
                      : ((group * outputs + output) * channels + channel) * taps + tap;
  }

private:
  bool transposed;
};

/// Takes ":<number>" for each part off the front of a layout's text; and back.
inline void consumeNumbers(llvm::StringRef &text, llvm::ArrayRef<int64_t *> parts) {
  for (int64_t *part : parts) {
    text.consume_front(":");
    (void)text.consumeInteger(10, *part);
  }
}
inline std::string numbersText(llvm::StringRef name, llvm::ArrayRef<int64_t> parts) {
  std::string text = name.str();
  for (int64_t part : parts)
    text += ":" + std::to_string(part);
  return text;
}

/// "panels:<width>:<t or n>": columns in panels of so many, [panel][k][column],
/// the last filled up with zeros; t when the constant is [.., columns, k].
struct PanelLayout {
  int64_t width = 1;
  bool transposed = false;

  std::string str() const { return "panels:" + std::to_string(width) + (transposed ? ":t" : ":n"); }
  static PanelLayout parse(llvm::StringRef text) {
    PanelLayout layout;
    text.consume_front("panels:");
    (void)text.consumeInteger(10, layout.width);
    layout.transposed = text == ":t";
    return layout;
  }
};

/// "rows:<rows>:<vectors>:<group>:<t or n>": the outputs of each group cut into
/// tiles as splitRows does, [tile][k][row of the tile]; t for the weights of a
/// transposed convolution, whose taps are turned round.
struct RowLayout {
  int64_t rows = 1, vectors = 1, group = 1;
  bool transposed = false;

  std::string str() const {
    return numbersText("rows", {rows, vectors, group}) + (transposed ? ":t" : ":n");
  }
  static RowLayout parse(llvm::StringRef text) {
    RowLayout layout;
    text.consume_front("rows");
    consumeNumbers(text, {&layout.rows, &layout.vectors, &layout.group});
    layout.transposed = text == ":t";
    return layout;
  }
};

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_PACKING_H
