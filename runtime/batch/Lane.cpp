//===- Lane.cpp - One session, and what it needs for batches --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lane.h"

#include "Tensors.h"

#include <cstring>

namespace kiln::rt {
namespace {

/// A dense tensor seen along its batch axis: `before` blocks of size[axis]
/// pieces of `bytes` each.
struct Pieces {
  uint64_t before = 1, bytes;
  Pieces(const DLTensor &tensor, int32_t batchAxis) : bytes(tensor.dtype.bits / 8) {
    for (int32_t axis = 0; axis != tensor.ndim; ++axis)
      (axis < batchAxis ? before : bytes) *= axis == batchAxis ? 1 : uint64_t(tensor.shape[axis]);
  }
};

/// Copies `count` pieces of each block, from piece `fromFirst` of `fromCount` to
/// `toFirst` of `toCount`.
void copyPieces(const Pieces &pieces, uint64_t count, const uint8_t *from, uint64_t fromFirst,
                uint64_t fromCount, uint8_t *to, uint64_t toFirst, uint64_t toCount) {
  from += fromFirst * pieces.bytes;
  to += toFirst * pieces.bytes;
  for (uint64_t i = 0; i != pieces.before; ++i) {
    std::memcpy(to, from, count * pieces.bytes);
    from += fromCount * pieces.bytes;
    to += toCount * pieces.bytes;
  }
}

} // namespace

Lane::~Lane() {
  // The pool is the session's.
  for (Block &block : memory)
    block.reset();
  kiln_session_destroy(session);
  kiln_session_destroy(twin);
}

bool Lane::allocate(const Interface &tensors, uint32_t maxBatch) {
  specs = &tensors;
  numInputs = uint32_t(specs->inputs.size());
  numOutputs = uint32_t(specs->outputs.size());
  size_t numDims = 0;
  for (const kiln_tensor_spec *spec : specs->inputs)
    numDims += spec->rank;
  for (const kiln_tensor_spec *spec : specs->outputs)
    numDims += 2 * spec->rank;
  if (!batch.items.allocate(maxBatch) || !memory.allocate(numInputs) ||
      !inputs.allocate(numInputs) || !given.allocate(numInputs) || !results.allocate(numOutputs) ||
      !views.allocate(numOutputs) || !resultPointers.allocate(numOutputs) ||
      !viewPointers.allocate(numOutputs) || !dims.allocate(numDims))
    return false;
  int64_t *next = dims.get();
  for (uint32_t i = 0; i != numInputs; ++i) {
    const kiln_tensor_spec &spec = *specs->inputs[i];
    inputs[i].device = {kDLCPU, 0};
    inputs[i].ndim = int32_t(spec.rank);
    inputs[i].dtype = spec.dtype;
    inputs[i].shape = next;
    next += spec.rank;
  }
  for (uint32_t i = 0; i != numOutputs; ++i) {
    uint32_t rank = specs->outputs[i]->rank;
    views[i].shape = next;
    views[i].strides = next + rank;
    next += 2 * rank;
    resultPointers[i] = &results[i];
    viewPointers[i] = &views[i];
  }
  return true;
}

kiln_status_t Lane::openSessions(kiln_model *ofModel, const kiln_batcher_options &options) {
  kiln_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof sessionOptions;
  sessionOptions.threads = options.executor ? 0 : options.session_threads;
  sessionOptions.executor = options.executor;
  kiln_status_t status = kiln_session_create(ofModel, &sessionOptions, &session);
  if (status == KILN_OK && options.twin)
    status = kiln_session_create(options.twin, &sessionOptions, &twin);
  if (status == KILN_OK)
    for (Block &block : memory)
      block.setPool(kiln_session_pool(session));
  return status;
}

/// Dims, and memory where there are rows, of input `index` of a batch.
bool Lane::prepareInput(uint32_t index, const DLTensor &like, uint32_t rows) {
  int32_t batchAxis = specs->inputs[index]->batch_axis;
  DLTensor &tensor = inputs[index];
  for (int32_t axis = 0; axis != tensor.ndim; ++axis)
    tensor.shape[axis] = axis == batchAxis ? rows : like.shape[axis];
  Pieces pieces(tensor, batchAxis);
  uint64_t bytes;
  if (__builtin_mul_overflow(pieces.before * pieces.bytes, uint64_t(rows), &bytes) ||
      !memory[index].reserve(std::max<uint64_t>(bytes, 1)))
    return false;
  tensor.data = memory[index].get();
  given[index] = &tensor;
  return true;
}

bool Lane::gatherInputs() {
  const Request &head = *batch.items[0].request;
  for (uint32_t i = 0; i != numInputs; ++i) {
    const DLTensor &like = head.inputs[i];
    int32_t axis = specs->inputs[i]->batch_axis;
    given[i] = like.data ? &like : nullptr;
    if (!like.data || axis < 0)
      continue;
    if (!prepareInput(i, like, batch.rows))
      return false;
    Pieces pieces(like, axis); // all agree but for the rows
    for (uint32_t item = 0; item != batch.count; ++item) {
      const BatchItem &part = batch.items[item];
      copyPieces(pieces, part.rows, dataOf(part.request->inputs[i]), part.firstRow,
                 part.request->rows, dataOf(inputs[i]), part.batchRow, batch.rows);
    }
  }
  return true;
}

kiln_status_t Lane::call(DLTensor *const *outputs) {
  wroteDirectly = outputs != resultPointers.get();
  if (!wroteDirectly)
    for (DLTensor &result : results)
      result = {};
  return kiln_run(usesTwin ? twin : session, given.get(), numInputs, outputs, numOutputs, nullptr);
}

kiln_status_t Lane::run() {
  const BatchItem &head = batch.items[0];
  tookDirectly = batch.count == 1 && head.rows == head.request->rows;
  if (!tookDirectly)
    return gatherInputs() ? call(resultPointers.get()) : KILN_OUT_OF_MEMORY;
  for (uint32_t i = 0; i != numInputs; ++i)
    given[i] = head.request->inputs[i].data ? &head.request->inputs[i] : nullptr;
  return call(head.request->hasOutputs ? head.request->outputs : resultPointers.get());
}

kiln_status_t Lane::runAlone(uint32_t item) {
  batch.items[0] = batch.items[item];
  batch.count = 1;
  batch.rows = batch.items[0].rows;
  batch.items[0].batchRow = 0;
  return run();
}

kiln_status_t Lane::deliver(uint32_t item) {
  const BatchItem &part = batch.items[item];
  if (wroteDirectly || !part.request->hasOutputs)
    return KILN_OK;
  uint64_t row = part.batchRow;
  for (uint32_t i = 0; i != numOutputs; ++i) {
    const DLTensor &from = results[i];
    const DLTensor &to = *part.request->outputs[i];
    int32_t batchAxis = specs->outputs[i]->batch_axis;
    if (to.ndim != from.ndim || to.dtype.code != from.dtype.code ||
        to.dtype.bits != from.dtype.bits || to.dtype.lanes != from.dtype.lanes)
      return to.ndim != from.ndim ? KILN_INVALID_SHAPE : KILN_INVALID_TYPE;
    for (int32_t axis = 0; axis != from.ndim; ++axis) {
      int64_t size = from.shape[axis];
      if (axis == batchAxis)
        size = size / batch.rows * part.request->rows;
      if (to.shape[axis] != size)
        return KILN_INVALID_SHAPE;
    }
    if (!isDense(to))
      return KILN_INVALID_SHAPE;
    Pieces pieces(from, batchAxis);
    if (batchAxis < 0) {
      // Parts of one request may be delivered at once; one of them does this.
      if (part.firstRow == 0)
        std::memcpy(dataOf(to), dataOf(from), pieces.before * pieces.bytes);
      continue;
    }
    // A row has so many pieces.
    uint64_t each = uint64_t(from.shape[batchAxis]) / batch.rows;
    copyPieces(pieces, part.rows * each, dataOf(from), row * each, batch.rows * each, dataOf(to),
               part.firstRow * each, part.request->rows * each);
  }
  return KILN_OK;
}

const DLTensor *const *Lane::view(uint32_t item) {
  const BatchItem &part = batch.items[item];
  int64_t row = part.batchRow;
  for (uint32_t i = 0; i != numOutputs; ++i) {
    const DLTensor &from = results[i];
    int32_t batchAxis = specs->outputs[i]->batch_axis;
    DLTensor &to = views[i];
    int64_t *shape = to.shape, *strides = to.strides;
    to = from;
    to.shape = shape;
    to.strides = strides;
    int64_t stride = 1;
    for (int32_t axis = from.ndim; axis-- > 0;) {
      shape[axis] = from.shape[axis];
      strides[axis] = stride;
      if (axis == batchAxis) {
        int64_t each = from.shape[axis] / batch.rows;
        shape[axis] = part.rows * each;
        to.byte_offset += uint64_t(row * each * stride) * (from.dtype.bits / 8);
      }
      stride *= from.shape[axis];
    }
  }
  return viewPointers.get();
}

uint64_t Lane::timeZeros(uint32_t rows) {
  for (uint32_t i = 0; i != numInputs; ++i) {
    const kiln_tensor_spec &spec = *specs->inputs[i];
    given[i] = nullptr;
    if (spec.flags & KILN_TENSOR_OPTIONAL)
      continue;
    for (uint32_t axis = 0; axis != spec.rank; ++axis)
      inputs[i].shape[axis] = spec.dims[axis].lo;
    if (!prepareInput(i, inputs[i], rows))
      return 0;
    std::memset(memory[i].get(), 0, memory[i].size());
  }
  uint64_t best = 0;
  constexpr int tries = 3;
  for (int i = 0; i != tries + 1; ++i) {
    uint64_t start = nanoseconds();
    if (call(resultPointers.get()) != KILN_OK)
      return 0;
    uint64_t time = nanoseconds() - start;
    // The first one makes the plan.
    if (i && (!best || time < best))
      best = time;
  }
  return best;
}

} // namespace kiln::rt
