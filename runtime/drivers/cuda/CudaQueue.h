//===- CudaQueue.h - A session's stream on a GPU -------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDA_CUDAQUEUE_H
#define KILN_RUNTIME_DRIVERS_CUDA_CUDAQUEUE_H

#include "CudaModel.h"
#include "GraphTable.h"

namespace kiln::cuda {

class CudaQueue final : public rt::DeviceQueue {
public:
  explicit CudaQueue(CudaModel &model) : model(model), context(model.context()) {}
  ~CudaQueue();

  kiln_status_t setUp(void *stream, rt::ErrorText &error);

  kiln_pool *pool() override { return model.pool; }
  const uint8_t *weights() override { return model.weights; }
  void setProfile(rt::Profile *given) override { profile = given; }
  kiln_status_t enter(void *stream, rt::ErrorText &error) override;
  kiln_status_t inspect(const void *memory, uint64_t bytes, const char *what,
                        rt::ErrorText &error) override;
  kiln_status_t upload(void *to, const void *from, uint64_t bytes, rt::ErrorText &error) override;
  kiln_status_t download(void *to, const void *from, uint64_t bytes, rt::ErrorText &error) override;
  kiln_status_t copy(void *to, const void *from, uint64_t bytes, rt::ErrorText &error) override;
  kiln_status_t launch(uint32_t row, uint32_t kernel, const void *args, int64_t extent,
                       rt::ErrorText &error) override;
  kiln_status_t finish(rt::ErrorText &error) override;
  kiln_status_t leave(rt::ErrorText &error) override;
  kiln_status_t wait(rt::ErrorText &error) override;
  kiln_status_t beginRun(const uint64_t *key, uint32_t count, bool &replayed,
                         rt::ErrorText &error) override;
  void forbidReplay() override {
    if (current)
      current->onlyLaunches = false;
  }
  kiln_status_t endRun(bool succeeded, bool &again, rt::ErrorText &error) override;
  void destroy() override { rt::destroyObject(this); }

private:
  kiln_status_t check(CUresult result, const char *what, rt::ErrorText &error) {
    return result == CUDA_SUCCESS ? KILN_OK : context.fail(result, what, error);
  }
  kiln_status_t reserveScratch(uint64_t bytes, rt::ErrorText &error);
  kiln_status_t checkStream(CUstream theirs, rt::ErrorText &error);

  /// A launch between two events.
  struct Timing {
    CUevent start, end;
    uint32_t row;
  };
  /// The next one to record; null when there is none to be had.
  Timing *nextTiming();
  void readTimings();

  CudaModel &model;
  const Context &context;
  /// Its own, for runs that ask for no other and to record launches in; the
  /// session's, which may be a caller's; the one of the run under way.
  CUstream own = nullptr, usual = nullptr, stream = nullptr;
  /// Behind a run that nobody has waited for.
  CUevent tail = nullptr;
  bool hasTail = false;
  rt::Profile *profile = nullptr;
  Timing *timings = nullptr;
  uint32_t numTimings = 0, usedTimings = 0;
  void *scratch = nullptr;
  uint64_t scratchBytes = 0;
  /// Of a launch; room for those of every kernel.
  rt::Array<void *> parameters;
  GraphTable graphs;
  /// Of the run under way.
  GraphTable::Entry *current = nullptr;
  bool capturing = false;
};

} // namespace kiln::cuda

#endif // KILN_RUNTIME_DRIVERS_CUDA_CUDAQUEUE_H
