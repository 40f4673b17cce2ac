//===- Batcher.cpp - Requests that share runs: life and work --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batcher.h"

#include "Cpu.h"

#include <climits>
#include <cstring>

namespace kiln::rt {
//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

/// Whether requests of one model are requests of the other.
static bool sameInterface(const kiln_model *a, const kiln_model *b) {
  auto same = [](const kiln_tensor_spec *x, const kiln_tensor_spec *y) {
    if (!x || !y)
      return x == y;
    if (std::strcmp(x->name, y->name) != 0 || x->rank != y->rank ||
        std::memcmp(&x->dtype, &y->dtype, sizeof x->dtype) != 0 || x->batch_axis != y->batch_axis ||
        x->flags != y->flags)
      return false;
    for (uint32_t axis = 0; axis != x->rank; ++axis)
      if (x->dims[axis].size != y->dims[axis].size)
        return false;
    return true;
  };
  for (uint32_t i = 0;; ++i) {
    const kiln_tensor_spec *in = kiln_model_input(a, i), *out = kiln_model_output(a, i);
    if (!same(in, kiln_model_input(b, i)) || !same(out, kiln_model_output(b, i)))
      return false;
    if (!in && !out)
      return true;
  }
}

kiln_status_t Batcher::readBatcherOptions(const kiln_model *model, kiln_batcher_options &options,
                                          ErrorText &error) {
  kiln_model_info info = {};
  info.struct_size = sizeof info;
  kiln_model_get_info(model, &info);
  if (!info.batch)
    return error.fail(KILN_UNSUPPORTED, "the model was compiled without --batch-dim");
  if (!info.separable)
    return error.fail(KILN_UNSUPPORTED, "requests cannot be batched along '%s': %s", info.batch,
                      info.batch_obstacle ? info.batch_obstacle : "it was not proved");
  if (options.twin && !sameInterface(model, options.twin))
    return error.fail(KILN_INVALID_ARGUMENT, "twin: its inputs or outputs are not the model's");
  int64_t most = INT32_MAX;
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model, i); ++i)
    if (spec->batch_axis >= 0)
      most = std::min(most, spec->dims[spec->batch_axis].hi);
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_output(model, i); ++i)
    if (spec->flags & KILN_TENSOR_LATE)
      return error.fail(KILN_UNSUPPORTED, "the size of output '%s' is known only after a run",
                        spec->name);
  struct {
    const char *name;
    uint32_t *value;
    uint32_t standard, most;
  } const numbers[] = {
      {"workers", &options.workers, 1, 64},
      {"session_threads", &options.session_threads, 1, 4096},
      {"max_batch", &options.max_batch, 32, 1u << 16},
      {"queue_limit", &options.queue_limit, 1024, 1u << 16},
      {"max_wait_us", &options.max_wait_us, 0, 60000000},
      {"max_exec_us", &options.max_exec_us, 0, 60000000},
      {"spin_us", &options.spin_us, 0, 100000},
      {"flags", &options.flags, 0,
       KILN_BATCHER_PIN | KILN_BATCHER_CALLERS_WORK | KILN_BATCHER_NO_TRIAL_RUNS |
           KILN_BATCHER_NO_SPIN},
      {"rate", &options.rate, 0, 1000000000},
      {"burst", &options.burst, 0, 1u << 30},
      {"target_p99_us", &options.target_p99_us, 0, 60000000},
      {"cooldown_ms", &options.cooldown_ms, 1000, 3600000},
  };
  for (const auto &number : numbers) {
    if (*number.value > number.most)
      return error.fail(KILN_INVALID_ARGUMENT, "%s: expected 0 to %u, got %u", number.name,
                        number.most, *number.value);
    if (!*number.value)
      *number.value = number.standard;
  }
  options.max_batch = uint32_t(std::min<int64_t>(options.max_batch, std::max<int64_t>(most, 1)));
  if (!options.burst)
    options.burst = options.max_batch;
  return KILN_OK;
}

kiln_status_t Batcher::create(kiln_model *model, const kiln_batcher_options *given,
                              kiln_batcher **batcher) {
  if (!batcher)
    return KILN_INVALID_ARGUMENT;
  *batcher = nullptr;
  kiln_batcher_options options;
  if (!readOptions(&options, sizeof options, given))
    return KILN_INVALID_ARGUMENT;
  ErrorText error;
  kiln_status_t status = readBatcherOptions(model, options, error);
  if (status == KILN_OK) {
    auto *made = createObject<Batcher>(model);
    status = made ? made->setUp(options, error)
                  : error.fail(KILN_OUT_OF_MEMORY, "no memory for a batcher");
    if (status == KILN_OK)
      *batcher = made;
    else if (made)
      destroyObject(made);
  }
  error.copyTo(options.error, options.error_size);
  return status;
}

Batcher::Batcher(kiln_model *model) : model(model) { api = &table; }

kiln_status_t Batcher::setUp(const kiln_batcher_options &given, ErrorText &error) {
  options = given;
  options.error = nullptr;
  pinWorkers = options.cpus || (options.flags & KILN_BATCHER_PIN);
  if (pinWorkers && !cpus.parse(options.cpus))
    return error.fail(KILN_INVALID_ARGUMENT, "cpus: '%s' is no list of CPUs that may be used",
                      options.cpus ? options.cpus : "");
  options.cpus = nullptr; // the caller's, gone after this call
  // Where there is no CPU for anybody else, who stays awake is in the way.
  staysAwake = !(options.flags & KILN_BATCHER_NO_SPIN) && countUsableCpus() > options.workers;
  if (!scheduler.configure(model, options))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a batcher");
  const Interface &tensors = scheduler.tensors();
  numInputs = uint32_t(tensors.inputs.size());
  numOutputs = uint32_t(tensors.outputs.size());
  size_t numDims = 0;
  for (const kiln_tensor_spec *spec : tensors.inputs)
    numDims += spec->rank;
  size_t count = options.queue_limit;
  if (!guard.create() || !places.allocate(count) || !inputStore.allocate(count * numInputs) ||
      !outputStore.allocate(count * numOutputs) || !dimStore.allocate(count * numDims) ||
      !lanes.allocate(options.workers) || !starts.allocate(options.workers))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a batcher");
  born = guard.generation();
  int64_t *nextDim = dimStore.get();
  for (uint32_t i = 0; i != count; ++i) {
    Request &request = places[i];
    request.index = i;
    request.inputs = &inputStore[size_t(i) * numInputs];
    request.outputs = &outputStore[size_t(i) * numOutputs];
    for (uint32_t j = 0; j != numInputs; ++j) {
      request.inputs[j].shape = nextDim;
      nextDim += tensors.inputs[j]->rank;
    }
  }
  for (size_t i = count; i-- > 0;)
    freePlaces.push(places[i]);
  if (options.rate) {
    rowInterval = 1000000000u / options.rate;
    burstTime = uint64_t(options.burst) * 1000000000u / options.rate;
  }
  for (Lane &lane : lanes) {
    if (!lane.allocate(tensors, options.max_batch))
      return error.fail(KILN_OUT_OF_MEMORY, "no memory for a batcher");
    if (kiln_status_t status = lane.openSessions(model, options)) {
      char reason[256];
      kiln_model_error(model, reason, sizeof reason);
      return error.fail(status, "%s", reason);
    }
  }
  if (!(options.flags & KILN_BATCHER_NO_TRIAL_RUNS))
    timeBatches();
  return startWorkers() ? KILN_OK : error.fail(KILN_OUT_OF_MEMORY, "no worker could be started");
}

/// Sizes are powers of two; the trial ends early when it takes long.
void Batcher::timeBatches() {
  constexpr uint64_t budget = 50000 * kNsPerUs;
  CostTable *costs = scheduler.onlyCosts();
  uint64_t start = nanoseconds();
  for (uint32_t rows = 1; costs && rows <= options.max_batch; rows *= 2) {
    uint64_t time = lanes[0].timeZeros(rows);
    // A model may refuse some sizes; requests will find out which.
    if (time)
      costs->note(rows, time);
    if (nanoseconds() - start > budget)
      break;
  }
}

bool Batcher::startWorkers() {
  for (uint32_t i = 0; i != lanes.size(); ++i) {
    starts[i] = {this, i};
    lanes[i].hasThread = startThread(lanes[i].thread, enterWorker, &starts[i]);
    if (!lanes[i].hasThread) {
      stopWorkers();
      return false;
    }
  }
  return true;
}

void Batcher::stopWorkers() {
  stopping.store(1, std::memory_order_seq_cst);
  ring(INT_MAX);
  for (Lane &lane : lanes)
    if (lane.hasThread)
      pthread_join(lane.thread, nullptr);
}

bool Batcher::inCallback() const {
  auto self = uint64_t(pthread_self());
  for (const Request &request : places)
    if (request.callbackThread.load(std::memory_order_relaxed) == self)
      return true;
  return false;
}

kiln_status_t Batcher::close(uint32_t how) {
  if (how > KILN_CLOSE_CANCEL)
    return KILN_INVALID_ARGUMENT;
  if (!inParent()) {
    // The threads are the parent's; whatever they held is as it was.
    destroyObject(this);
    return KILN_OK;
  }
  if (inCallback())
    return KILN_BUSY;
  {
    Locked locked(door);
    closing.store(1, std::memory_order_seq_cst);
    // Who waits for a place sees it.
    freeBell.fetch_add(1, std::memory_order_seq_cst);
  }
  futexWake(freeBell, INT_MAX);
  while (how == KILN_CLOSE_CANCEL) {
    lock.lock();
    takeIntake();
    Request *request = scheduler.takeAny();
    if (request)
      noteTaken(1, request->rows);
    lock.unlock();
    if (!request)
      break;
    giveUp(*request, KILN_CANCELLED, 0);
  }
  drain(kForever);
  stopWorkers();
  while (visitors.load(std::memory_order_seq_cst)) {
    uint32_t seen = idleBell.load(std::memory_order_seq_cst);
    futexWait(idleBell, seen, 100 * kNsPerUs);
  }
  destroyObject(this);
  return KILN_OK;
}

kiln_status_t Batcher::drain(uint64_t timeoutMicroseconds) {
  if (inCallback())
    return KILN_BUSY;
  uint64_t start = nanoseconds();
  uint64_t timeout =
      timeoutMicroseconds > kForever / kNsPerUs ? kForever : timeoutMicroseconds * kNsPerUs;
  door.lock();
  drainers.fetch_add(1, std::memory_order_relaxed);
  door.unlock();
  ring(INT_MAX);
  kiln_status_t status = KILN_OK;
  for (;;) {
    door.lock();
    uint32_t seen = idleBell.load(std::memory_order_relaxed);
    bool idle = !underWay;
    door.unlock();
    if (idle)
      break;
    uint64_t passed = nanoseconds() - start;
    if (passed >= timeout) {
      status = KILN_BUSY;
      break;
    }
    futexWait(idleBell, seen, timeout == kForever ? kForever : timeout - passed);
  }
  door.lock();
  drainers.fetch_sub(1, std::memory_order_relaxed);
  door.unlock();
  return status;
}

kiln_status_t Batcher::setLoad(double memory, double throttle) {
  // Written so that NaN is refused.
  if (!(memory >= 0 && memory <= 1 && throttle >= 0 && throttle <= 1))
    return KILN_INVALID_ARGUMENT;
  Locked locked(lock);
  scheduler.load.setSensors(memory, throttle);
  scheduler.load.evaluate(nanoseconds());
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

constinit const kiln_batcher_api Batcher::table = {
    sizeof(kiln_batcher_api),
    KILN_ABI_VERSION,
    [](kiln_batcher *batcher, const DLTensor *const *inputs, uint32_t numInputs,
       DLTensor *const *outputs, uint32_t numOutputs, const kiln_submit_options *options,
       kiln_ticket *ticket) {
      return of(batcher).submit(inputs, numInputs, outputs, numOutputs, options, false, ticket);
    },
    [](kiln_batcher *batcher, const DLTensor *const *inputs, uint32_t numInputs,
       DLTensor *const *outputs, uint32_t numOutputs, const kiln_submit_options *options) {
      Visit visit(of(batcher));
      return of(batcher).run(inputs, numInputs, outputs, numOutputs, options);
    },
    [](kiln_batcher *batcher, kiln_ticket ticket, uint64_t timeout) {
      Visit visit(of(batcher));
      return of(batcher).wait(ticket, timeout);
    },
    [](kiln_batcher *batcher, kiln_ticket ticket) {
      Visit visit(of(batcher));
      return of(batcher).cancel(ticket);
    },
    [](kiln_batcher *batcher, uint64_t timeout) {
      Visit visit(of(batcher));
      return of(batcher).inParent() ? of(batcher).drain(timeout) : KILN_UNSUPPORTED;
    },
    [](kiln_batcher *batcher, uint32_t how) { return of(batcher).close(how); },
    [](kiln_batcher *batcher, double memory, double throttle) {
      Visit visit(of(batcher));
      return of(batcher).inParent() ? of(batcher).setLoad(memory, throttle) : KILN_UNSUPPORTED;
    },
    [](kiln_batcher *batcher, kiln_batcher_stats *stats) {
      Visit visit(of(batcher));
      if (of(batcher).inParent())
        of(batcher).fillStats(*stats);
      else
        std::memset(reinterpret_cast<char *>(stats) + sizeof(size_t), 0,
                    stats->struct_size - std::min(stats->struct_size, sizeof(size_t)));
    },
    [](kiln_batcher *batcher, char *text, size_t size) {
      Visit visit(of(batcher));
      return of(batcher).inParent() ? of(batcher).writeText(text, size) : 0;
    },
};

} // namespace kiln::rt
