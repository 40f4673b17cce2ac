//===- FrontEnds.cpp - Ways to serve requests -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FrontEnds.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>

namespace bench {

void check(kiln_status_t status, const char *what) {
  if (status == KILN_OK)
    return;
  std::fprintf(stderr, "%s: %s\n", what, kiln_status_name(status));
  std::exit(1);
}

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

Tensor::Tensor(const kiln_tensor_spec &spec, const char *batch, int64_t rows, int64_t length) {
  uint64_t count = 1;
  for (uint32_t axis = 0; axis != spec.rank; ++axis) {
    const kiln_dim_spec &dim = spec.dims[axis];
    bool isBatch = int32_t(axis) == spec.batch_axis ||
                   (dim.symbol && batch && std::strcmp(dim.symbol, batch) == 0);
    shape.push_back(dim.size >= 0 ? dim.size : isBatch ? rows : length);
    count *= uint64_t(shape.back());
  }
  bytes.resize(count * spec.dtype.bits / 8);
  if (spec.dtype.code == kDLFloat && spec.dtype.bits == 32)
    for (uint64_t i = 0; i != count; ++i) {
      float value = float(int64_t(i * 2654435761u % 2001) - 1000) / 1000;
      std::memcpy(&bytes[i * 4], &value, sizeof value);
    }
  view.data = bytes.data();
  view.device = {kDLCPU, 0};
  view.ndim = int32_t(spec.rank);
  view.dtype = spec.dtype;
  view.shape = shape.data();
}

Model::Model(const char *path) {
  check(kiln_open(path, nullptr, &artefact), path);
  check(kiln_model_open(kiln_artefact_api(artefact), nullptr, &model), "model");
  kiln_model_info info = {};
  info.struct_size = sizeof info;
  kiln_model_get_info(model, &info);
  if (!info.separable) {
    std::fprintf(stderr, "%s: not separable\n", path);
    std::exit(1);
  }
  batch = info.batch;
}

Model::~Model() {
  kiln_model_close(model);
  kiln_close(artefact);
}

std::vector<std::unique_ptr<Tensor>> Model::inputs(int64_t rows, int64_t length) const {
  std::vector<std::unique_ptr<Tensor>> tensors;
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model, i); ++i)
    tensors.push_back(std::make_unique<Tensor>(*spec, batch, rows, length));
  return tensors;
}

std::vector<std::unique_ptr<Tensor>> Model::outputs(int64_t rows, int64_t length) const {
  std::vector<std::unique_ptr<Tensor>> tensors;
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_output(model, i); ++i)
    tensors.push_back(std::make_unique<Tensor>(*spec, batch, rows, length));
  return tensors;
}

kiln_session *Model::session() const {
  kiln_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  kiln_session *session = nullptr;
  check(kiln_session_create(model, &options, &session), "session");
  return session;
}

Request::Request(const Model &model, int64_t length)
    : inputMemory(model.inputs(1, length)), outputMemory(model.outputs(1, length)), length(length) {
  for (auto &tensor : inputMemory)
    inputs.push_back(&tensor->view);
  for (auto &tensor : outputMemory)
    outputs.push_back(&tensor->view);
}

namespace {

class KilnFrontEnd final : public FrontEnd {
public:
  KilnFrontEnd(const Model &model, const Settings &settings) : deadlineUs(settings.deadlineUs) {
    kiln_batcher_options options = {};
    options.struct_size = sizeof options;
    options.workers = settings.workers;
    options.max_batch = settings.maxBatch;
    options.queue_limit = settings.queueLimit;
    options.max_wait_us = settings.maxWaitUs;
    check(kiln_batcher_create(model.model, &options, &batcher), "batcher");
  }
  ~KilnFrontEnd() override { kiln_batcher_close(batcher, KILN_CLOSE_DRAIN); }

  bool submit(Request &request) override {
    kiln_submit_options how = {};
    how.struct_size = sizeof how;
    how.user = &request;
    how.deadline_us = deadlineUs;
    how.done = [](void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *,
                  uint32_t) {
      auto &self = *static_cast<Request *>(user);
      self.done(self, status);
    };
    return kiln_batcher_submit(batcher, request.inputs.data(), uint32_t(request.inputs.size()),
                               request.outputs.data(), uint32_t(request.outputs.size()), &how,
                               nullptr) == KILN_OK;
  }
  void drain() override { check(kiln_batcher_drain(batcher, UINT64_MAX), "drain"); }
  kiln_batcher_stats stats() override {
    kiln_batcher_stats stats = {};
    stats.struct_size = sizeof stats;
    kiln_batcher_get_stats(batcher, &stats);
    return stats;
  }

private:
  uint32_t deadlineUs;
  kiln_batcher *batcher = nullptr;
};

class QueueFrontEnd final : public FrontEnd {
public:
  QueueFrontEnd(const Model &model, const Settings &settings, uint32_t fill)
      : model(model), settings(settings), fill(fill) {
    for (uint32_t i = 0; i != settings.workers; ++i)
      threads.emplace_back([this] { work(); });
  }
  ~QueueFrontEnd() override {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    arrived.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  bool submit(Request &request) override {
    {
      std::lock_guard lock(mutex);
      if (queue.size() >= settings.queueLimit)
        return false;
      queue.push_back(&request);
      ++underWay;
    }
    arrived.notify_one();
    return true;
  }
  void drain() override {
    std::unique_lock lock(mutex);
    finished.wait(lock, [this] { return underWay == 0; });
  }

private:
  void work() {
    kiln_session *session = model.session();
    std::vector<Request *> batch;
    std::unique_lock lock(mutex);
    for (;;) {
      arrived.wait(lock, [this] { return stopping || !queue.empty(); });
      if (queue.empty())
        break;
      if (fill > 1)
        arrived.wait_for(lock, std::chrono::microseconds(settings.maxWaitUs),
                         [this] { return stopping || queue.size() >= fill; });
      if (queue.empty())
        continue;
      batch.assign(1, queue.front());
      queue.pop_front();
      while (batch.size() < settings.maxBatch && !queue.empty() &&
             queue.front()->length == batch.front()->length) {
        batch.push_back(queue.front());
        queue.pop_front();
      }
      lock.unlock();
      run(session, batch);
      lock.lock();
      underWay -= batch.size();
      if (!underWay)
        finished.notify_all();
    }
    lock.unlock();
    kiln_session_destroy(session);
  }

  void run(kiln_session *session, std::vector<Request *> &batch) {
    int64_t rows = int64_t(batch.size()), length = batch.front()->length;
    kiln_status_t status;
    if (rows == 1) {
      Request &one = *batch.front();
      status = kiln_run(session, one.inputs.data(), uint32_t(one.inputs.size()), one.outputs.data(),
                        uint32_t(one.outputs.size()), nullptr);
    } else {
      auto ins = model.inputs(rows, length);
      auto outs = model.outputs(rows, length);
      std::vector<const DLTensor *> inputs;
      std::vector<DLTensor *> outputs;
      for (size_t i = 0; i != ins.size(); ++i) {
        for (size_t row = 0; row != batch.size(); ++row) {
          const auto &from = batch[row]->inputMemory[i]->bytes;
          std::memcpy(&ins[i]->bytes[row * from.size()], from.data(), from.size());
        }
        inputs.push_back(&ins[i]->view);
      }
      for (auto &tensor : outs)
        outputs.push_back(&tensor->view);
      status = kiln_run(session, inputs.data(), uint32_t(inputs.size()), outputs.data(),
                        uint32_t(outputs.size()), nullptr);
      for (size_t i = 0; i != outs.size(); ++i)
        for (size_t row = 0; row != batch.size(); ++row) {
          auto &to = batch[row]->outputMemory[i]->bytes;
          std::memcpy(to.data(), &outs[i]->bytes[row * to.size()], to.size());
        }
    }
    for (Request *request : batch)
      request->done(*request, status);
  }

  const Model &model;
  Settings settings;
  uint32_t fill;
  std::mutex mutex;
  std::condition_variable arrived, finished;
  std::deque<Request *> queue;
  size_t underWay = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

} // namespace

std::unique_ptr<FrontEnd> makeFrontEnd(const std::string &name, const Model &model,
                                       const Settings &settings) {
  Settings own = settings;
  if (name == "kiln")
    return std::make_unique<KilnFrontEnd>(model, settings);
  if (name == "single")
    own.maxBatch = 1;
  else if (name != "mutex" && name != "fixed") {
    std::fprintf(stderr, "no front end '%s'\n", name.c_str());
    std::exit(2);
  }
  return std::make_unique<QueueFrontEnd>(model, own, name == "fixed" ? settings.maxBatch : 1);
}

} // namespace bench
