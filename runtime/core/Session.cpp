//===- Session.cpp - The mutable half: life, plans, calls -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"

#include "Executor.h"

#include <cstring>

namespace kiln::rt {

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

Session::Session(Model &model, const kiln_module &module) : model(model), module(module) {
  api = model.api;
  model.sessions.fetch_add(1, std::memory_order_relaxed);
  model.metrics.add(counts);
}

Session::~Session() {
  if (twin)
    destroyObject(twin);
  closeDevice();
  if (ownsExecutor)
    executor->api->destroy(executor);
  else if (executor)
    executor->api->release(executor);
  model.metrics.remove(counts);
  model.sessions.fetch_sub(1, std::memory_order_release);
}

bool Session::allocate() {
  size_t numDims = 0;
  for (uint32_t i = 0; i != module.num_outputs; ++i)
    numDims += module.outputs[i].rank;
  if (!symbols.allocate(module.num_symbols) || !inputData.allocate(module.num_inputs) ||
      !inputBytes.allocate(module.num_inputs) || !inputCopies.allocate(module.num_inputs) ||
      !outputData.allocate(module.num_outputs) || !outputs.allocate(module.num_outputs) ||
      !outputDims.allocate(2 * numDims) || !sizes.allocate(size_t(module.num_buffers) + 1) ||
      !planner.allocate(module.num_buffers))
    return false;
  int64_t *next = outputDims.begin();
  for (uint32_t i = 0; i != module.num_outputs; ++i) {
    uint32_t rank = module.outputs[i].rank;
    outputs[i].ownDims = next;
    outputs[i].strides = next + rank;
    next += 2 * rank;
  }
  // bind() that reads inputs may give other symbols for the same shapes.
  uint32_t key = module.reads_inputs ? module.num_bound_symbols : module.num_input_symbols;
  plans.configure(key, module.num_symbols, module.num_buffers, uint32_t(numDims),
                  module.num_outputs);
  arena.setPool(pool.get());
  for (Block &copy : inputCopies)
    copy.setPool(pool.get());
  for (OutputSlot &slot : outputs)
    slot.block.setPool(pool.get());
  if (!runMemory.create(pool.get()))
    return false;
  frame.inputs = inputData.get();
  frame.outputs = outputData.get();
  frame.weights = module.weights;
  frame.session = this;
  return true;
}

kiln_status_t Session::setUp(const kiln_session_options &options) {
  constexpr uint32_t twins = KILN_SESSION_TWIN | KILN_SESSION_NO_TWIN;
  if (options.flags & ~(KILN_SESSION_TIME_RUNS | KILN_SESSION_PROFILE | twins))
    return error.fail(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x%x", options.flags);
  if ((options.flags & twins) == twins)
    return error.fail(KILN_INVALID_ARGUMENT,
                      "flags: KILN_SESSION_TWIN and KILN_SESSION_NO_TWIN at once");
  constexpr uint32_t mostEvents = 1u << 24;
  if (options.trace_events > mostEvents)
    return error.fail(KILN_INVALID_ARGUMENT, "trace_events: %u is above %u", options.trace_events,
                      mostEvents);
  if (options.reserved)
    return error.fail(KILN_INVALID_ARGUMENT, "reserved: must be 0");
  if (options.stream && !deviceModel)
    return error.fail(KILN_UNSUPPORTED, "stream: the CPU has none");
  if (options.executor && options.threads)
    return error.fail(KILN_INVALID_ARGUMENT, "threads: must be 0, the executor has its own");
  if (options.executor) {
    executor = options.executor;
    executor->api->retain(executor);
  } else if (options.threads != 1 && !deviceModel) {
    kiln_executor_options executorOptions = {};
    executorOptions.struct_size = sizeof executorOptions;
    executorOptions.threads = options.threads;
    char reason[128] = "no executor";
    executorOptions.error = reason;
    executorOptions.error_size = sizeof reason;
    kiln_status_t status = Executor::create(&executorOptions, &executor);
    if (status != KILN_OK)
      return error.fail(status, "%s", reason);
    ownsExecutor = true;
  }
  if (executor)
    scratchSlots = executor->api->slots(executor);
  pool.set(options.pool ? options.pool : model.pool);
  seenTrims = pool.get()->api->trim_count(pool.get());
  timesRuns = options.flags & KILN_SESSION_TIME_RUNS;
  profiles = options.flags & KILN_SESSION_PROFILE;
  if (!allocate() || (profiles && !profile.create(module, options.trace_events)))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a session");
  return deviceModel ? setUpDevice(options) : KILN_OK;
}

/// Whether the CPU may do what a device cannot.
static bool handsOver(const kiln_session_options &options) {
  return options.device ? options.flags & KILN_SESSION_TWIN
                        : !(options.flags & KILN_SESSION_NO_TWIN);
}

kiln_status_t Session::setUpDevice(const kiln_session_options &options) {
  DeviceQueue *queue;
  if (kiln_status_t status = deviceModel->open(options.stream, &queue, error))
    return status;
  place = deviceModel->place();
  mayHandOver = handsOver(options);
  twinOptions = options;
  twinOptions.device = nullptr;
  twinOptions.stream = nullptr;
  if (profiles)
    queue->setProfile(&profile);
  device = createObject<DeviceRun>();
  if (device && device->create(queue, module)) {
    frame.inputs = device->inputData();
    frame.outputs = device->outputData();
    frame.weights = queue->weights();
    frame.services = &deviceServices;
    return KILN_OK;
  }
  if (!device)
    queue->destroy();
  return error.fail(KILN_OUT_OF_MEMORY, "no memory for a session");
}

/// The first device that the options name or, when they name none, that is there.
static kiln_status_t chooseDevice(Model &model, const kiln_session_options &options,
                                  DeviceModel *&chosen, ErrorText &why) {
  chosen = nullptr;
  const char *name = options.device;
  if (name && (std::strcmp(name, "cpu") == 0 || std::strcmp(name, "cpu:0") == 0)) {
    why.fail(KILN_OK, "asked for");
    return KILN_OK;
  }
  const kiln_module_device *device = model.module.device;
  const DeviceDriver *driver = device ? static_cast<const DeviceDriver *>(device->driver) : nullptr;
  if (!driver || !driver->accepts(name)) {
    why.fail(KILN_OK, "the artefact has no other plan");
    return name ? why.fail(KILN_UNSUPPORTED, "device '%s': this artefact has plans for cpu%s only",
                           name, driver ? " and cuda" : "")
                : KILN_OK;
  }
  kiln_status_t status = model.openDevice(name, chosen, why);
  if (status == KILN_OK)
    why.fail(KILN_OK, "%s", chosen->choice());
  // Who has not asked for it, or not for it alone, gets the CPU.
  return name && !handsOver(options) ? status : KILN_OK;
}

kiln_status_t Session::make(Model &model, const kiln_session_options &options, DeviceModel *device,
                            ErrorText &reason, Session *&session) {
  session = createObject<Session>(model, device ? *model.module.device->plan : model.module);
  if (!session) {
    if (device)
      model.closeDevice(device);
    return reason.fail(KILN_OUT_OF_MEMORY, "no memory for a session");
  }
  session->deviceModel = device;
  session->deviceText.append("%s", device ? device->name() : "cpu");
  session->choice = reason;
  kiln_status_t status = session->setUp(options);
  if (status == KILN_OK)
    return KILN_OK;
  reason = session->error;
  destroyObject(session);
  session = nullptr;
  return status;
}

kiln_status_t Session::create(Model &model, const kiln_session_options *given,
                              kiln_session **session) {
  if (!session)
    return KILN_INVALID_ARGUMENT;
  *session = nullptr;
  ErrorText reason;
  kiln_status_t status = KILN_OK;
  kiln_session_options options;
  if (!readOptions(&options, sizeof options, given)) {
    status = reason.fail(KILN_INVALID_ARGUMENT, "struct_size of the options is wrong");
  } else if (DeviceModel *chosen; (status = chooseDevice(model, options, chosen, reason))) {
  } else {
    Session *made;
    status = make(model, options, chosen, reason, made);
    // The device is there, but has no room, or fails at once.
    if (chosen && handsOver(options) &&
        (status == KILN_DEVICE_FAILED || status == KILN_OUT_OF_MEMORY))
      status = make(model, options, nullptr, reason, made);
    *session = made;
  }
  if (status != KILN_OK)
    model.setError(reason);
  return status;
}

kiln_status_t Session::destroy() {
  if (!enter())
    return KILN_BUSY;
  destroyObject(this);
  return KILN_OK;
}

bool Session::enter() {
  uint64_t free = model.guard.generation() << 1;
  uint64_t seen = free;
  if (busy.compare_exchange_strong(seen, free | 1, std::memory_order_acquire)) [[likely]]
    return true;
  // Of another generation: the first call of all, or a child's first. A run
  // that was under way in the parent is none of the child's.
  return seen >> 1 != free >> 1 &&
         busy.compare_exchange_strong(seen, free | 1, std::memory_order_acquire);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

kiln_status_t Session::findPlan(const void *const *data, Plan *&plan) {
  frame.fault = {};
  if (module.reads_inputs) {
    if (!data)
      return error.fail(KILN_CONSTRAINT,
                        "shapes depend on the values of an input: give the inputs' data");
    if (int32_t code = module.bind(symbols.get(), data, &frame.fault))
      return reportFault(module, code, frame.fault, error);
  }
  plan = plans.find(symbols.get());
  if (plan) [[likely]]
    return KILN_OK;
  if (!module.reads_inputs)
    if (int32_t code = module.bind(symbols.get(), data, &frame.fault))
      return reportFault(module, code, frame.fault, error);
  plan = plans.claim();
  if (!plan)
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for a plan");
  if (kiln_status_t status = makePlan(*plan))
    return status;
  plans.publish(*plan);
  counts.plans.add(1);
  return KILN_OK;
}

kiln_status_t Session::makePlan(Plan &plan) {
  std::memcpy(plan.symbols, symbols.get(), module.num_symbols * sizeof(int64_t));
  module.sizes(plan.symbols, sizes.get());
  uint64_t scratch = sizes[module.num_buffers];
  if (!planner.plan(module.buffers, sizes.get(), module.num_buffers, plan.offsets,
                    plan.arenaBytes) ||
      scratch > kMaxBytes / kMaxThreads)
    return error.fail(KILN_OUT_OF_MEMORY, "these sizes need more memory than can be addressed");
  // One line apart, so that neighbours share none.
  plan.scratchStride = scratch ? alignUp(scratch, kAlignment) + kAlignment : 0;
  plan.totalBytes = plan.arenaBytes + plan.scratchStride * scratchSlots;
  module.output_dims(plan.symbols, plan.outputDims);
  const int64_t *dims = plan.outputDims;
  for (uint32_t i = 0; i != module.num_outputs; ++i) {
    const kiln_module_tensor &spec = module.outputs[i];
    plan.outputBytes[i] = 0;
    if (!(spec.flags & KILN_MODULE_TENSOR_LATE) &&
        !denseBytes(dims, spec.rank, spec.dtype, plan.outputBytes[i])) {
      TextBuilder shape;
      appendShape(shape, dims, spec.rank);
      return error.fail(KILN_INVALID_SHAPE, "output '%s' would have the impossible shape %s",
                        spec.name, shape.get());
    }
    dims += spec.rank;
  }
  return KILN_OK;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

kiln_status_t Session::takeRunOptions(const kiln_run_options *given) {
  runFlags = 0;
  runStream = nullptr;
  callOnDevice = deviceFault = false;
  if (!given) [[likely]]
    return KILN_OK;
  kiln_run_options options;
  if (!readOptions(&options, sizeof options, given))
    return error.fail(KILN_INVALID_ARGUMENT, "struct_size of the options is wrong");
  if (options.flags & ~uint32_t(KILN_RUN_ASYNC | KILN_RUN_DEVICE_OUTPUTS))
    return error.fail(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x%x", options.flags);
  runFlags = options.flags;
  runStream = options.stream;
  callOnDevice = runStream || runFlags & KILN_RUN_DEVICE_OUTPUTS;
  if (device)
    return KILN_OK;
  const char *wanted = runStream                            ? "stream"
                       : runFlags & KILN_RUN_DEVICE_OUTPUTS ? "KILN_RUN_DEVICE_OUTPUTS"
                       // Done when it returns is early enough for who has lost his device.
                       : runFlags & KILN_RUN_ASYNC && !counts.isTwin ? "KILN_RUN_ASYNC"
                                                                     : nullptr;
  return wanted ? error.fail(KILN_UNSUPPORTED, "%s: the CPU has none%s%s", wanted,
                             counts.isTwin ? ", which stands in since " : "",
                             counts.isTwin ? choice.get() : "")
                : KILN_OK;
}

kiln_status_t Session::checkCounts(const DLTensor *const *inputs, uint32_t numInputs,
                                   const void *results, uint32_t numOutputs) {
  if (numInputs > module.num_inputs)
    return error.fail(KILN_INVALID_ARGUMENT, "expected %u inputs, got %u", module.num_inputs,
                      numInputs);
  if (numOutputs != module.num_outputs)
    return error.fail(KILN_INVALID_ARGUMENT, "expected %u outputs, got %u", module.num_outputs,
                      numOutputs);
  if ((!inputs && numInputs) || (!results && numOutputs))
    return error.fail(KILN_INVALID_ARGUMENT, "the array of %s is NULL",
                      inputs || !numInputs ? "outputs" : "inputs");
  callInputs = inputs;
  numCallInputs = numInputs;
  return KILN_OK;
}

kiln_status_t Session::outputShapes(const DLTensor *const *inputs, uint32_t numInputs,
                                    DLTensor *const *results, uint32_t numOutputs) {
  return locked([&](Session &session) {
    return session.askForShapes(inputs, numInputs, results, numOutputs);
  });
}

kiln_status_t Session::askForShapes(const DLTensor *const *inputs, uint32_t numInputs,
                                    DLTensor *const *results, uint32_t numOutputs) {
  error.clear();
  Plan *plan = nullptr;
  bool haveData = false;
  kiln_status_t status = checkCounts(inputs, numInputs, results, numOutputs);
  runStream = nullptr;
  if (status == KILN_OK && device && module.reads_inputs)
    status = enterDevice();
  if (status == KILN_OK)
    status = bindInputs(/*needData=*/false, haveData);
  if (status == KILN_OK)
    status = findPlan(haveData ? inputData.get() : nullptr, plan);
  const int64_t *dims = plan ? plan->outputDims : nullptr;
  for (uint32_t i = 0; status == KILN_OK && i != numOutputs; ++i) {
    const kiln_module_tensor &spec = module.outputs[i];
    if (DLTensor *tensor = results[i]) {
      if (spec.rank && !tensor->shape)
        return error.fail(KILN_INVALID_ARGUMENT, "output '%s': shape is NULL, its rank is %u",
                          spec.name, spec.rank);
      tensor->device = {kDLCPU, 0};
      tensor->dtype = {spec.dtype.code, spec.dtype.bits, spec.dtype.lanes};
      tensor->ndim = int32_t(spec.rank);
      for (uint32_t axis = 0; axis != spec.rank; ++axis)
        tensor->shape[axis] = dims[axis];
    }
    dims += spec.rank;
  }
  return status;
}

kiln_status_t Session::run(const DLTensor *const *inputs, uint32_t numInputs,
                           DLTensor *const *results, uint32_t numOutputs,
                           const kiln_run_options *options) {
  return lockedRun([&](Session &session) {
    kiln_status_t status = session.beginRun(inputs, numInputs, results, numOutputs, options);
    for (uint32_t i = 0; status == KILN_OK && i != numOutputs; ++i) {
      OutputSlot &slot = session.outputs[i];
      if (!results[i]) {
        status = session.error.fail(KILN_INVALID_ARGUMENT, "output '%s' is NULL",
                                    session.module.outputs[i].name);
        break;
      }
      slot.owner = results[i]->data ? OutputSlot::Owner::Caller : OutputSlot::Owner::Session;
      slot.tensor = results[i];
    }
    return status == KILN_OK ? session.countedRun() : session.noteFailure(status);
  });
}

kiln_status_t Session::runManaged(const DLTensor *const *inputs, uint32_t numInputs,
                                  DLManagedTensorVersioned **results, uint32_t numOutputs,
                                  const kiln_run_options *options) {
  return lockedRun([&](Session &session) {
    if (kiln_status_t status = session.beginRun(inputs, numInputs, results, numOutputs, options))
      return session.noteFailure(status);
    for (OutputSlot &slot : session.outputs) {
      slot.owner = OutputSlot::Owner::Managed;
      slot.managed = nullptr;
    }
    kiln_status_t status = session.countedRun();
    for (uint32_t i = 0; status == KILN_OK && i != numOutputs; ++i)
      results[i] = session.outputs[i].managed;
    if (status != KILN_OK)
      session.dropManaged();
    return status;
  });
}

kiln_status_t Session::beginRun(const DLTensor *const *inputs, uint32_t numInputs,
                                const void *results, uint32_t numOutputs,
                                const kiln_run_options *options) {
  error.clear();
  if (kiln_status_t status = takeRunOptions(options)) [[unlikely]]
    return status;
  return checkCounts(inputs, numInputs, results, numOutputs);
}

kiln_status_t Session::noteFailure(kiln_status_t status) {
  counts.runs.add(1);
  counts.failures[uint32_t(status) % KILN_METRICS_STATUSES].add(1);
  return status;
}

kiln_status_t Session::countedRun() {
  uint64_t start = timesRuns ? nanoseconds() : 0;
  kiln_status_t status = execute();
  if (timesRuns)
    counts.noteTime(nanoseconds() - start);
  if (status != KILN_OK) [[unlikely]]
    // What a device could not do is counted by handOver().
    return deviceFault ? status : noteFailure(status);
  counts.runs.add(1);
  return KILN_OK;
}

kiln_status_t Session::callWatched(Plan &plan) {
  Integrity &integrity = *model.integrity;
  if (kiln_status_t status = integrity.admit(error))
    return status;
  constexpr int attempts = 3;
  for (int attempt = 1;; ++attempt) {
    uint64_t mends = integrity.mends();
    uint64_t start = integrity.isRolling() ? pace.start() : 0;
    if (kiln_status_t status = call(plan))
      return status;
    uint64_t elapsed = start ? pace.end(start) : 0;
    bool mended;
    if (kiln_status_t status = integrity.afterRun(mends, elapsed, mended, error))
      return status;
    if (!mended) [[likely]]
      break;
    if (attempt == attempts)
      return error.fail(KILN_DAMAGED, "weights are damaged as fast as they are mended");
    integrity.noteRecomputed();
    runMemory.clear();
  }
  for (uint32_t i = 0; i != module.num_outputs; ++i) {
    if (!integrity.guards(i))
      continue;
    const void *data;
    if (kiln_status_t status = fetchOutput(i, data))
      return status;
    if (kiln_status_t status = integrity.checkOutput(i, data, outputs[i].bytes, error))
      return status;
  }
  return KILN_OK;
}

kiln_status_t Session::execute() {
  bool haveData;
  if (device)
    if (kiln_status_t status = enterDevice())
      return status;
  if (kiln_status_t status = bindInputs(/*needData=*/true, haveData)) [[unlikely]]
    return status;
  Plan *plan;
  if (kiln_status_t status = findPlan(inputData.get(), plan)) [[unlikely]]
    return status;
  uint64_t trims = pool.get()->api->trim_count(pool.get());
  givesBack = trims != seenTrims;
  if (givesBack) [[unlikely]] {
    seenTrims = trims;
    giveBack(*plan);
  }
  if (kiln_status_t status = placeOutputs(*plan)) [[unlikely]]
    return status;
  if (!device && !arena.reserve(plan->totalBytes)) [[unlikely]]
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for an arena of %llu bytes",
                      static_cast<unsigned long long>(plan->totalBytes));
  kiln_status_t status = model.integrity ? callWatched(*plan) : call(*plan);
  if (status == KILN_OK) [[likely]]
    finishOutputs();
  // Before the session is free: late outputs may be copied from it.
  runMemory.clear();
  return status;
}

void Session::giveBack(const Plan &plan) {
  arena.shrinkTo(plan.totalBytes);
  for (uint32_t i = 0; i != module.num_inputs; ++i)
    if (inputData[i] != inputCopies[i].get())
      inputCopies[i].reset();
}

kiln_status_t Session::callModule(Plan &plan) {
  frame.symbols = plan.symbols;
  frame.arena = arena.get();
  frame.offsets = plan.offsets;
  frame.scratch = arena.get() + plan.arenaBytes;
  scratchStride = plan.scratchStride;
  serviceStatus = KILN_OK;
  int32_t code;
  inTeam = false;
  if (!executor) {
    frame.services = profiles ? &profiledServices : &aloneServices;
    code = module.run(&frame);
  } else {
    inTeam = executor->api->begin(executor, &plan.history) == KILN_EXECUTOR_TEAM;
    frame.services = profiles ? &profiledServices : inTeam ? &teamServices : &aloneServices;
    code = module.run(&frame);
    executor->api->end(executor, &plan.history);
  }
  if (code == KILN_MODULE_OK) [[likely]]
    return KILN_OK;
  // The service has said why, in better words.
  return serviceStatus != KILN_OK ? serviceStatus : reportFault(module, code, frame.fault, error);
}

} // namespace kiln::rt
