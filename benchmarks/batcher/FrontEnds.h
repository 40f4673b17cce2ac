//===- FrontEnds.h - Ways to serve requests ------------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same requests through Kiln's batcher, and through what a service would
// write without it: a queue under a mutex with a condition variable, whose
// worker runs one request at a time, or batches as they come, or full ones.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_BENCHMARKS_BATCHER_FRONTENDS_H
#define KILN_BENCHMARKS_BATCHER_FRONTENDS_H

#include "kiln-c/Batcher.h"
#include "kiln-c/Loader.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// Ends the program when a call fails.
void check(kiln_status_t status, const char *what);
uint64_t nanoseconds();

/// A tensor with memory of its own.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  DLTensor view = {};
  /// `rows` and `length` stand in for the batch and for every other symbol.
  Tensor(const kiln_tensor_spec &spec, const char *batch, int64_t rows, int64_t length);
};

struct Model {
  explicit Model(const char *path);
  Model(const Model &) = delete;
  ~Model();
  std::vector<std::unique_ptr<Tensor>> inputs(int64_t rows, int64_t length) const;
  std::vector<std::unique_ptr<Tensor>> outputs(int64_t rows, int64_t length) const;
  kiln_session *session() const;

  kiln_artefact *artefact = nullptr;
  kiln_model *model = nullptr;
  const char *batch = nullptr;
};

/// One row.
struct Request {
  Request(const Model &model, int64_t length);
  std::vector<std::unique_ptr<Tensor>> inputMemory, outputMemory;
  std::vector<const DLTensor *> inputs;
  std::vector<DLTensor *> outputs;
  int64_t length;
  /// When it should have been sent.
  uint64_t due = 0;
  /// Called when it is done, on a thread of the front end.
  std::function<void(Request &, kiln_status_t)> done;
};

class FrontEnd {
public:
  virtual ~FrontEnd() = default;
  /// False: refused, and `done` is not called.
  virtual bool submit(Request &request) = 0;
  virtual void drain() = 0;
  /// Of Kiln's batcher; zeros of others.
  virtual kiln_batcher_stats stats() { return {}; }
};

struct Settings {
  uint32_t workers = 1, maxBatch = 32, queueLimit = 4096, maxWaitUs = 0;
  /// Of each request; 0: none. Kiln's batcher alone knows deadlines.
  uint32_t deadlineUs = 0;
};

/// "kiln", "single", "mutex" (batches as they come) or "fixed" (waits for full
/// ones up to max_wait).
std::unique_ptr<FrontEnd> makeFrontEnd(const std::string &name, const Model &model,
                                       const Settings &settings);

} // namespace bench

#endif // KILN_BENCHMARKS_BATCHER_FRONTENDS_H
