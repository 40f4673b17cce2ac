//===- Tile.h - Register tiles of contractions ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction is cut into tiles of a few rows by a few vectors of columns
// whose sums stay in registers over the whole inner dimension: for every k the
// tile loads its vectors of B once and multiplies them by one broadcast element
// of A a row. The inner dimension is not blocked, rows are (so that their part
// of A stays in the second-level cache).
//
// Tiles that do not come out even are never masked. Known row counts get tiles
// of exactly those rows; unknown ones a tile that computes some rows for
// nothing and stores those that exist. Columns are padded with zeros in the
// panel of B, and what exceeds is dropped by the epilogue.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_TILE_H
#define KILN_LIB_CODEGEN_CONTRACTION_TILE_H

#include "kiln/Codegen/Contraction.h"
#include "kiln/Codegen/IndexMath.h"

namespace kiln::contraction {

/// Accumulators of a tile: rows x vectors registers of `lanes` elements.
struct TileShape {
  int64_t rows = 1, vectors = 1, lanes = 1;
  int64_t columns() const { return vectors * lanes; }
};

/// The best tile for so many columns (when known).
TileShape chooseTile(const VectorTarget &target, mlir::Type accumulator,
                     std::optional<int64_t> columns);
/// The tile whose panels have this width, a multiple of the lanes.
TileShape tileOfWidth(const VectorTarget &target, mlir::Type accumulator, int64_t width);

/// Tiles for a known number of rows: `full` of the whole height, then `rest`.
struct RowSplit {
  int64_t full = 0;
  llvm::SmallVector<int64_t, 2> rest;
  /// Of each tile, in order.
  llvm::SmallVector<int64_t> heights(const TileShape &tile) const {
    llvm::SmallVector<int64_t> all(static_cast<size_t>(full), tile.rows);
    all.append(rest.begin(), rest.end());
    return all;
  }
};
RowSplit splitRows(int64_t rows, const TileShape &tile);
/// Rows of the thinnest tile whose sums still hide each other's latency.
int64_t thinRows(const TileShape &tile);

/// Sums of products for one tile.
class MicroKernel {
public:
  MicroKernel(KernelBuilder &k, mlir::Type accumulator) : k(k), type(accumulator) {}

  /// Element of A for row r at k, and vector v of B's columns at k.
  using LoadA = llvm::function_ref<mlir::Value(int64_t r, mlir::Value k)>;
  using LoadB = llvm::function_ref<mlir::Value(int64_t v, mlir::Value k)>;

  /// The accumulators, row by row, after the loop over [0, depth).
  llvm::SmallVector<mlir::Value> run(const TileShape &tile, mlir::Value depth, LoadA a, LoadB b);

private:
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  KernelBuilder &k;
  mlir::Type type;
};

/// What happens to a tile's sums: the ops after the anchor, and the stores.
class Epilogue {
public:
  /// Index of the anchor's result at a row and a column of the contraction.
  using IndexFn = std::function<Index(ElementBuilder &e, mlir::Value row, mlir::Value column)>;

  /// Reserves scratch for a tile: make it before the first scratchBuffer.
  Epilogue(KernelBuilder &k, mlir::Operation *anchor, const TileShape &largest, IndexFn indexOf);

  /// Where a tile lies. Null counts mean that all of it exists.
  struct Place {
    mlir::Value row, column;
    mlir::Value validRows, validColumns;
  };
  void store(const TileShape &tile, llvm::ArrayRef<mlir::Value> sums, const Place &place);

private:
  void probe(const TileShape &tile);
  void storeFromRegisters(const TileShape &tile, llvm::ArrayRef<mlir::Value> sums,
                          const Place &place);
  void storeByLoop(const TileShape &tile, llvm::ArrayRef<mlir::Value> sums, const Place &place);

  KernelBuilder &k;
  mlir::Operation *anchor;
  mlir::Type type;
  IndexFn indexOf;
  int64_t width;
  Expr tileOffset;
  /// The ops after the anchor are few and work on lanes.
  bool inRegisters = true;
};

/// Elements of 2^n vectors in turns, as one vector: x[0], y[0], x[1], y[1] ...
mlir::Value interleave(mlir::OpBuilder &b, mlir::Location loc,
                       llvm::SmallVector<mlir::Value> vectors);

/// Whether the ops after the anchor can walk dims [first, last) of its result
/// as one: every tensor has all of them or none.
bool canCollapse(KernelBuilder &k, mlir::Operation *anchor, size_t first, size_t last);

/// Memory of a value that is an input of the kernel under views that only
/// permute and cut: element i lies at offset + the sum of i[d] * strides[d].
struct StridedInput {
  const Buffer *buffer;
  Shape strides;
  Expr offset = 0;
};
std::optional<StridedInput> stridedInput(KernelBuilder &k, mlir::Value value);

/// Columns of B in memory: element (k, column) lies at base + k * kStride +
/// column * columnStride.
struct StridedColumns {
  mlir::Value memref, base, kStride, columnStride;
};
using PanelElement =
    llvm::function_ref<mlir::Value(ElementBuilder &e, mlir::Value k, mlir::Value column)>;
/// Fills a panel [k][column] of sums' type with the first columns of B, whose
/// elements are of `type`, and zeros: by copying when B lies in memory, else
/// element by element, whose neighbours are columns or, `pulledAlongK`, along k.
void packPanel(KernelBuilder &k, const Buffer &target, mlir::Type type, mlir::Value validColumns,
               PanelElement element, const std::optional<StridedColumns> &strided,
               bool pulledAlongK = false);

/// Calls `body` for the tiles of blocks [from, to) of `blocks`, among which the
/// whole tiles are shared out; the rest belongs to the last block.
void forTiles(KernelBuilder &k, const RowSplit &split, const TileShape &tile, int64_t blocks,
              mlir::Value from, mlir::Value to,
              llvm::function_ref<void(int64_t height, mlir::Value row)> body);

/// Calls `body` for tiles that cover rows [from, to). Constant bounds give tiles
/// of exactly those rows. Others leave a last tile of which `valid` rows exist;
/// null where all do.
void forRows(KernelBuilder &k, mlir::Value from, mlir::Value to, const TileShape &tile,
             llvm::function_ref<void(int64_t height, mlir::Value row, mlir::Value valid)> body);

/// For (outer, inner) in [begin, end) of outer x inner units: `body` gets the
/// outer index and the range of inner ones.
void forUnits(KernelBuilder &k, mlir::Value innerCount,
              llvm::function_ref<void(mlir::Value outer, mlir::Value from, mlir::Value to)> body);

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_TILE_H
