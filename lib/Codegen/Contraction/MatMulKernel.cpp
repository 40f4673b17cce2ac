//===- MatMulKernel.cpp - Kernels of matrix products ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of A by panels of B. Units are (block of rows, panel); which of the two
// runs inside depends on what must be kept: with B packed at compile time a
// block of A stays in the cache while panels stream by, else a panel that was
// just packed is used for all blocks.
//
// When no matrix of B depends on the outer dims, these are rows of A as well.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "Tile.h"
#include "kiln/Codegen/FusionGroup.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Bytes of a block of A that the second-level cache holds beside a panel.
static constexpr int64_t blockBytes = 384 * 1024;
/// Pieces that work for many cores should come in.
static constexpr int64_t wantedUnits = 16;

namespace {
class MatMulEmitter {
public:
  MatMulEmitter(KernelBuilder &k, const MatMulSpec &spec);
  LogicalResult emit();

private:
  /// Where A's rows of a block are: row r at k is base + r * rowStride +
  /// k * kStride.
  struct RowsOfA {
    Value memref, base, rowStride, kStride;
  };
  /// A panel of B beside rows of A.
  struct Work {
    RowsOfA a;
    Value rowFrom, rowTo;
    Value panel, panelBase;
    Value column, validColumns;
  };

  Shape batchOf(Value tensor) const {
    Shape shape = shapeOf(tensor);
    shape.truncate(shape.size() - 2);
    return shape;
  }
  bool rowsAreOne() const;
  int64_t rowsOfBlock() const;
  void emitUnits(const Expr &blocks, const Expr &panels);
  void emitRows();
  void runRowKernel(Operation *op, Value rowFrom, Value rowTo);
  void emitBlock(Value block, Work work);
  void emitTile(int64_t rows, Value row, Value validRows, const Work &work);

  /// Index of an operand's outer dims at the current outer index.
  Index batchIndexOf(Value operand);
  RowsOfA rowsOfA(Value rowFrom, Value rowTo);
  void packA(Value rowFrom, Value rowTo);
  void packB(Value column, Value validColumns);

  KernelBuilder &k;
  const MatMulSpec &spec;
  IndexMath math;
  Type type, accumulator;
  Shape shape, batch;
  Expr rowCount, depth, columnCount;
  /// The outer dims count as rows.
  bool flat = false;
  /// A is read where it lies.
  std::optional<StridedInput> direct;
  /// B is a constant in panels.
  bool panelsGiven = false;
  TileShape tile;
  int64_t blockRows = 0;
  /// Ops of rows that make A's and that go over the result's.
  Operation *preparer = nullptr, *finisher = nullptr;
  Expr rowOpsCost = 0;
  Epilogue *epilogue = nullptr;
  Value packedPanel, packedRows;
  /// Outer index of the unit at hand.
  SmallVector<Value> current;
};
} // namespace

std::string kiln::matMulLayout(const MatMulSpec &spec, const VectorTarget &target) {
  Shape shape = shapeOf(spec.b);
  auto columns = shape[shape.size() - (spec.transB ? 2 : 1)].constant();
  TileShape tile = chooseTile(target, accumulatorType(elementTypeOf(spec.b)), columns);
  return PanelLayout{tile.columns(), spec.transB}.str();
}

MatMulEmitter::MatMulEmitter(KernelBuilder &k, const MatMulSpec &spec)
    : k(k), spec(spec), math(k.b, k.loc) {
  Value y = spec.anchor->getResult(0);
  type = elementTypeOf(y);
  accumulator = accumulatorType(type);
  shape = shapeOf(y);
  batch = batchOf(y);
  Shape a = shapeOf(spec.a);
  depth = a[a.size() - (spec.transA ? 2 : 1)];
  columnCount = shape.back();
  rowCount = shape[shape.size() - 2];
}

/// Whether batch and row of A are one dim with one stride, and nothing else
/// depends on the batch.
bool MatMulEmitter::rowsAreOne() const {
  if (!llvm::all_of(batchOf(spec.b), [](const Expr &dim) { return dim.isConstant(1); }) ||
      !canCollapse(k, spec.anchor, 0, shape.size() - 1))
    return false;
  if (!direct)
    return true;
  // Strides of batch dims, then of rows, as the result has them.
  Shape strides = direct->strides;
  if (spec.transA)
    std::swap(strides[strides.size() - 2], strides.back());
  Shape dims = shapeOf(spec.a);
  for (size_t d = 0; d + 2 < dims.size(); ++d) {
    const Expr &inner = d + 3 == dims.size() ? rowCount : dims[d + 1];
    if (!dims[d].isConstant(1) && strides[d] != strides[d + 1] * inner)
      return false;
  }
  return true;
}

int64_t MatMulEmitter::rowsOfBlock() const {
  int64_t bytes = depth.constant().value_or(1024) * accumulator.getIntOrFloatBitWidth() / 8;
  int64_t height = tile.rows;
  int64_t rows = std::max<int64_t>(1, blockBytes / std::max<int64_t>(1, bytes) / height) * height;
  int64_t panels = columnCount.constant()
                       ? llvm::divideCeil(*columnCount.constant(), tile.columns())
                       : wantedUnits;
  auto total = rowCount.constant();
  if (panels < wantedUnits) {
    // Few panels: the rows must give the pieces.
    int64_t blocks = llvm::divideCeil(wantedUnits, std::max<int64_t>(1, panels));
    int64_t share = total ? llvm::alignTo(llvm::divideCeil(*total, blocks), height) : 8 * height;
    rows = std::min(rows, std::max(share, 4 * height));
  }
  if (total && *total > 0) {
    int64_t blocks = llvm::divideCeil(*total, rows);
    rows = llvm::alignTo(llvm::divideCeil(*total, blocks), height);
  }
  return rows;
}

LogicalResult MatMulEmitter::emit() {
  for (Value result : k.results())
    if (shapeOf(result) != shape)
      return failure();
  for (Operation &op : k.region())
    if (const OpKernels *kernels = k.table.find(&op); kernels && kernels->finishesRows)
      (op.isBeforeInBlock(spec.anchor) ? preparer : finisher) = &op;
  bool wholeRows = preparer || finisher;
  if (finisher)
    k.beginStage(finisher->getOperand(0));
  if (type == accumulator)
    direct = stridedInput(k, spec.a);
  flat = rowsAreOne();
  if (finisher && !flat) {
    // Packed rows are one dim, whatever A looks like.
    direct.reset();
    flat = rowsAreOne();
  }
  if (flat)
    rowCount = elementCount(batch) * rowCount;
  auto argument = dyn_cast<BlockArgument>(spec.b);
  StringRef layout = argument ? StringRef(k.layouts[argument.getArgNumber()]) : "";
  panelsGiven = !layout.empty();
  tile = panelsGiven ? tileOfWidth(k.target, accumulator, PanelLayout::parse(layout).width)
                     : chooseTile(k.target, accumulator, columnCount.constant());
  blockRows = wholeRows ? rowsToFinish : rowsOfBlock();

  current.assign(batch.size(), k.index(0));
  // Rows that are counted as one go in a dim that is not 1: an operand's dim of
  // 1 is read as broadcast, whatever the index.
  size_t rowDim = batch.size();
  while (flat && rowDim && shape[rowDim].isConstant(1))
    --rowDim;
  Epilogue ending(k, spec.anchor, tile, [this, rowDim](ElementBuilder &, Value row, Value column) {
    Index index(current.begin(), current.end());
    index.append({k.index(0), column});
    index[rowDim] = row;
    return index;
  });
  epilogue = &ending;
  auto reserve = [&](int64_t count) {
    Expr elements = depth * Expr(count);
    Expr offset = k.reserveScratch(elements * Expr(accumulator.getIntOrFloatBitWidth() / 8));
    return k.scratchBuffer(offset, elements, accumulator);
  };
  if (!panelsGiven)
    packedPanel = reserve(tile.columns());
  if (!direct)
    packedRows = reserve(blockRows);

  if (wholeRows) {
    assert(flat && Expr::divideExactly(rowCount, blockRows) && "the fuser looks for that");
    emitRows();
    return success();
  }
  Expr blocks = Expr::ceilDiv(rowCount, blockRows),
       panels = Expr::ceilDiv(columnCount, tile.columns());
  // Two FMAs a cycle at 3 GHz.
  Expr products = Expr::min(rowCount, blockRows) * depth * Expr(tile.columns());
  k.setUnits((flat ? Expr(1) : elementCount(batch)) * blocks * panels,
             Expr::floorDiv(products * Expr(166), tile.lanes) + Expr(20000));
  emitUnits(blocks, panels);
  return success();
}

void MatMulEmitter::emitUnits(const Expr &blocks, const Expr &panels) {
  Value blockCount = k.size(blocks), panelCount = k.size(panels);
  Value rows = k.size(rowCount), columns = k.size(columnCount);
  Value width = k.index(tile.columns()), height = k.index(blockRows);
  bool evenColumns = columnCount.constant() && *columnCount.constant() % tile.columns() == 0;
  SmallVector<Value> outerSizes;
  for (const Expr &dim : batch)
    outerSizes.push_back(k.size(dim));
  auto enter = [&](Value matrix) {
    if (!flat)
      llvm::copy(k.elements().delinearize(matrix, outerSizes), current.begin());
  };
  auto takeBlock = [&](Work &work, Value block) {
    work.rowFrom = math.mul(block, height);
    work.rowTo = math.min(math.add(work.rowFrom, height), rows);
    work.a = rowsOfA(work.rowFrom, work.rowTo);
  };
  auto takePanel = [&](Work &work, Value panel) {
    work.column = math.mul(panel, width);
    if (!evenColumns)
      work.validColumns = math.sub(columns, work.column);
  };
  if (panelsGiven) {
    auto argument = cast<BlockArgument>(spec.b);
    Value panelElements = math.mul(k.size(depth), width);
    Expr all = elementCount(batchOf(spec.b)) * panels * depth * Expr(tile.columns());
    Value packed = memref::ViewOp::create(
        k.b, k.loc, MemRefType::get({ShapedType::kDynamic}, accumulator),
        k.inputBuffer(argument.getArgNumber()).memref, k.index(0), ValueRange{k.size(all)});
    SmallVector<Value> sizesOfB;
    for (const Expr &dim : batchOf(spec.b))
      sizesOfB.push_back(k.size(dim));
    forUnits(k, panelCount, [&](Value outer, Value from, Value to) {
      enter(math.div(outer, math.max(blockCount, k.index(1))));
      Work work;
      Value block = math.rem(outer, math.max(blockCount, k.index(1)));
      takeBlock(work, block);
      work.panel = packed;
      Value matrix = k.elements().linearize(batchIndexOf(spec.b), sizesOfB);
      Value first = math.mul(matrix, panelCount);
      k.loop(from, to, 1, [&](Value panel) {
        takePanel(work, panel);
        work.panelBase = math.mul(math.add(first, panel), panelElements);
        emitBlock(block, work);
      });
    });
    return;
  }
  forUnits(k, blockCount, [&](Value outer, Value from, Value to) {
    Value divisor = math.max(panelCount, k.index(1));
    enter(math.div(outer, divisor));
    Work work;
    takePanel(work, math.rem(outer, divisor));
    packB(work.column, math.min(math.sub(columns, work.column), width));
    work.panel = packedPanel;
    work.panelBase = k.index(0);
    k.loop(from, to, 1, [&](Value block) {
      takeBlock(work, block);
      emitBlock(block, work);
    });
  });
}

/// An op of rows has its own kernel, over some of them.
void MatMulEmitter::runRowKernel(Operation *op, Value rowFrom, Value rowTo) {
  Value first = k.begin, last = k.end;
  k.begin = rowFrom, k.end = rowTo;
  LogicalResult emitted = k.table.find(op)->kernel(k, op);
  assert(succeeded(emitted) && "kernels of rows never decline");
  (void)emitted;
  rowOpsCost = rowOpsCost + k.unitCost;
  k.begin = first, k.end = last;
}

/// A unit is a block of whole rows: its products and what follows them go to the
/// result's memory, and while they are in the cache the finisher's kernel goes
/// over these rows.
void MatMulEmitter::emitRows() {
  Value width = k.index(tile.columns()), columns = k.size(columnCount);
  Value panelElements = math.mul(k.size(depth), width);
  Value packed;
  if (panelsGiven) {
    Expr panels = Expr::ceilDiv(columnCount, tile.columns());
    packed = memref::ViewOp::create(
        k.b, k.loc, MemRefType::get({ShapedType::kDynamic}, accumulator),
        k.inputBuffer(cast<BlockArgument>(spec.b).getArgNumber()).memref, k.index(0),
        ValueRange{k.size(panels * depth * Expr(tile.columns()))});
  }
  k.loop(k.begin, k.end, 1, [&](Value block) {
    Work work;
    work.rowFrom = math.mul(block, blockRows);
    work.rowTo = math.add(work.rowFrom, blockRows);
    work.a = rowsOfA(work.rowFrom, work.rowTo);
    Value panelCount = math.ceilDiv(columns, width);
    k.loop(k.index(0), panelCount, 1, [&](Value panel) {
      work.column = math.mul(panel, width);
      work.validColumns = math.sub(columns, work.column);
      work.panel = packed ? packed : packedPanel;
      work.panelBase = packed ? math.mul(panel, panelElements) : k.index(0);
      if (!packed)
        packB(work.column, math.min(work.validColumns, width));
      forRows(k, k.index(0), k.index(blockRows), tile, [&](int64_t rows, Value row, Value) {
        emitTile(rows, math.add(work.rowFrom, row), nullptr, work);
      });
    });
    if (!finisher)
      return;
    k.finishStage();
    runRowKernel(finisher, work.rowFrom, work.rowTo);
  });
  Expr products = Expr(blockRows) * depth * columnCount;
  k.setUnits(Expr::floorDiv(rowCount, blockRows),
             Expr::floorDiv(products * Expr(166), tile.lanes) + rowOpsCost * Expr(blockRows));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Index MatMulEmitter::batchIndexOf(Value operand) {
  Shape dims = batchOf(operand);
  size_t lead = batch.size() - dims.size();
  Index index;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    Value here = current[lead + d];
    if (dim.isConstant(1))
      here = k.index(0);
    else if (dim != batch[lead + d])
      here = math.select(math.compare(arith::CmpIPredicate::eq, k.size(dim), k.index(1)),
                         k.index(0), here);
    index.push_back(here);
  }
  return index;
}

MatMulEmitter::RowsOfA MatMulEmitter::rowsOfA(Value rowFrom, Value rowTo) {
  if (!direct) {
    packA(rowFrom, rowTo);
    Value stride = k.size(depth);
    // Rows are counted from the first of the matrix, packed ones from the block's.
    return {packedRows, math.sub(k.index(0), math.mul(rowFrom, stride)), stride, k.index(1)};
  }
  size_t rank = direct->strides.size();
  auto stride = [&](size_t d) { return k.size(direct->strides[d]); };
  RowsOfA rows{direct->buffer->memref, k.size(direct->offset), stride(rank - (spec.transA ? 1 : 2)),
               stride(rank - (spec.transA ? 2 : 1))};
  if (!flat)
    for (auto [d, index] : llvm::enumerate(batchIndexOf(spec.a)))
      rows.base = math.add(rows.base, math.mul(index, stride(d)));
  return rows;
}

/// Computes a block of A into scratch, row by row.
void MatMulEmitter::packA(Value rowFrom, Value rowTo) {
  if (preparer) {
    k.beginAside(spec.a, {packedRows, accumulator, {k.index(blockRows), k.size(depth)}}, rowFrom);
    runRowKernel(preparer, rowFrom, rowTo);
    k.finishAside();
    return;
  }
  SmallVector<Value> rowSizes;
  if (flat)
    for (const Expr &dim : ArrayRef(shape).drop_back())
      rowSizes.push_back(k.size(dim));
  Buffer target{packedRows, accumulator, {rowTo, k.size(depth)}};
  Value end = k.size(depth), from = k.index(0);
  size_t lead = shape.size() - shapeOf(spec.a).size();
  k.loop(rowFrom, rowTo, 1, [&](Value row) {
    Index index;
    if (flat) {
      Index all = k.elements().delinearize(row, rowSizes);
      index.assign(all.begin() + lead, all.end());
    } else {
      index = batchIndexOf(spec.a);
      index.push_back(row);
    }
    Value packedRow = math.sub(row, rowFrom);
    k.vectorLoop(from, end, k.target.lanes(accumulator), [&](ElementBuilder &e, Value at) {
      Index here(index);
      here.insert(here.end() - (spec.transA ? 1 : 0), at);
      Value element = e.convert(e.element(spec.a, here), type, accumulator);
      e.store(element, target, {packedRow, at});
    });
  });
}

/// Computes a panel of B into scratch; what B lacks becomes zero.
void MatMulEmitter::packB(Value column, Value validColumns) {
  Buffer target{packedPanel, accumulator, {k.size(depth), k.index(tile.columns())}};
  Index matrix = batchIndexOf(spec.b);
  std::optional<StridedColumns> strided;
  if (auto input = stridedInput(k, spec.b)) {
    auto stride = [&](size_t d) { return k.size(input->strides[d]); };
    size_t rank = input->strides.size();
    strided =
        StridedColumns{input->buffer->memref, k.size(input->offset),
                       stride(rank - (spec.transB ? 1 : 2)), stride(rank - (spec.transB ? 2 : 1))};
    for (auto [d, index] : llvm::enumerate(matrix))
      strided->base = math.add(strided->base, math.mul(index, stride(d)));
    strided->base = math.add(strided->base, math.mul(column, strided->columnStride));
  }
  packPanel(
      k, target, type, validColumns,
      [&](ElementBuilder &e, Value at, Value c) {
        Index index(matrix);
        index.push_back(at);
        index.push_back(e.add(column, c));
        if (spec.transB)
          std::swap(index[index.size() - 2], index.back());
        return e.element(spec.b, index);
      },
      strided);
}

//===----------------------------------------------------------------------===//
// Blocks and tiles
//===----------------------------------------------------------------------===//

void MatMulEmitter::emitBlock(Value block, Work work) {
  auto total = rowCount.constant();
  if (total) {
    if (*total == 0)
      return;
    int64_t blocks = llvm::divideCeil(*total, blockRows), last = (blocks - 1) * blockRows;
    RowSplit split = splitRows(*total - last, tile);
    int64_t fullEnd = last + split.full * tile.rows;
    if (fullEnd > 0)
      k.loop(work.rowFrom, math.min(work.rowTo, k.index(fullEnd)), tile.rows,
             [&](Value row) { emitTile(tile.rows, row, nullptr, work); });
    auto rest = [&] {
      int64_t row = fullEnd;
      for (int64_t rows : split.rest) {
        emitTile(rows, k.index(row), nullptr, work);
        row += rows;
      }
    };
    if (split.rest.empty())
      return;
    if (blocks == 1)
      return rest();
    return k.branch(math.compare(arith::CmpIPredicate::eq, block, k.index(blocks - 1)), rest);
  }
  forRows(k, work.rowFrom, work.rowTo, tile,
          [&](int64_t rows, Value row, Value validRows) { emitTile(rows, row, validRows, work); });
}

void MatMulEmitter::emitTile(int64_t rows, Value row, Value validRows, const Work &work) {
  TileShape shape{rows, tile.vectors, tile.lanes};
  const RowsOfA &a = work.a;
  SmallVector<Value> starts;
  for (int64_t r = 0; r < rows; ++r) {
    // Rows that do not exist read the last that does.
    Value here = validRows ? math.add(row, math.min(k.index(r), math.sub(validRows, k.index(1))))
                           : math.add(row, r);
    starts.push_back(math.add(a.base, math.mul(here, a.rowStride)));
  }
  // Distances that are constants go into the addressing.
  if (auto stride = math.constantOf(a.rowStride); stride && !validRows)
    for (int64_t r = 1; r < rows; ++r)
      starts[r] = math.add(starts[0], r * *stride);
  auto vectorType = VectorType::get({tile.lanes}, accumulator);
  MicroKernel kernel(k, accumulator);
  Value width = k.index(tile.columns());
  SmallVector<Value> sums = kernel.run(
      shape, k.size(depth),
      [&](int64_t r, Value at) -> Value {
        return memref::LoadOp::create(k.b, k.loc, a.memref,
                                      math.add(starts[r], math.mul(at, a.kStride)));
      },
      [&](int64_t v, Value at) -> Value {
        Value position = math.add(work.panelBase, math.mul(at, width));
        return vector::LoadOp::create(k.b, k.loc, vectorType, work.panel,
                                      math.add(position, v * tile.lanes));
      });
  epilogue->store(shape, sums, {row, work.column, validRows, work.validColumns});
}

LogicalResult kiln::buildMatMulKernel(KernelBuilder &k, const MatMulSpec &spec) {
  return MatMulEmitter(k, spec).emit();
}
