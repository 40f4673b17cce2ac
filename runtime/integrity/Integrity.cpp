//===- Integrity.cpp - What watches over a model in use -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Integrity.h"

#include "Finite.h"

#include <cstring>

namespace kiln::rt {

static constexpr uint64_t kMillisecond = 1000000;
/// More bytes than weights can be.
static constexpr uint64_t kEverything = UINT64_MAX;

static void bump(std::atomic<uint64_t> &count, uint64_t by = 1) {
  count.fetch_add(by, std::memory_order_relaxed);
}

kiln_status_t Integrity::create(const kiln_integrity_options &options, kiln_event_fn eventFn,
                                void *user, ErrorText &error) {
  constexpr uint32_t mostFindings = 1000000, mostMilliseconds = 86400000;
  if (options.rate > KILN_CHECK_BACKGROUND)
    return error.fail(KILN_INVALID_ARGUMENT, "rate: %u is none", options.rate);
  if (options.flags & ~uint32_t(KILN_INTEGRITY_KEYED))
    return error.fail(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x%x", options.flags);
  if (options.breaker_threshold > mostFindings)
    return error.fail(KILN_INVALID_ARGUMENT, "breaker_threshold: %u is above %u",
                      options.breaker_threshold, mostFindings);
  if (options.breaker_window_ms > mostMilliseconds || options.breaker_open_ms > mostMilliseconds ||
      options.background_round_ms > mostMilliseconds)
    return error.fail(KILN_INVALID_ARGUMENT, "times of breaker and background: more than a day");
  rate = options.rate;
  reload = options.reload;
  reloadUser = options.reload_user;
  onEvent = eventFn;
  onEventUser = user;
  auto orDefault = [](uint32_t value, uint32_t otherwise) { return value ? value : otherwise; };
  breaker.configure(orDefault(options.breaker_threshold, 3),
                    orDefault(options.breaker_window_ms, 60000) * kMillisecond,
                    orDefault(options.breaker_open_ms, 1000) * kMillisecond);
  if (kiln_status_t status = chooseOutputs(options, error))
    return status;
  kiln_status_t status = weights.create(options.flags & KILN_INTEGRITY_KEYED, error);
  if (status == KILN_OK && rate == KILN_CHECK_BACKGROUND && weights.numParts())
    status = startWatcher(orDefault(options.background_round_ms, 60000), error);
  return status;
}

kiln_status_t Integrity::startWatcher(uint32_t roundMs, ErrorText &error) {
  // Not more often than the kernel's timers are worth.
  uint64_t parts = weights.numParts(), round = roundMs * kMillisecond;
  uint64_t turns = std::min<uint64_t>(parts, roundMs);
  partsAtOnce = (parts + turns - 1) / turns;
  return watcher.start(checkInBackground, this, round / turns)
             ? KILN_OK
             : error.fail(KILN_OUT_OF_MEMORY, "no thread to check weights in the background");
}

void Integrity::checkInBackground(void *opaque) {
  auto &self = *static_cast<Integrity *>(opaque);
  // What it finds is told by events and figures, and decided by the breaker.
  ErrorText error;
  bool mended = false;
  uint64_t first = self.cursor.fetch_add(self.partsAtOnce, std::memory_order_relaxed);
  (void)self.checkParts(first, self.partsAtOnce, mended, error);
  (void)self.checkDevices(self.partsAtOnce * WeightGuard::kPart, mended, error);
}

kiln_status_t Integrity::chooseOutputs(const kiln_integrity_options &options, ErrorText &error) {
  if (options.num_finite_outputs && !options.finite_outputs)
    return error.fail(KILN_INVALID_ARGUMENT, "finite_outputs: NULL");
  if (!guarded.allocate(module.num_outputs))
    return error.fail(KILN_OUT_OF_MEMORY, "no memory for integrity checks");
  for (uint32_t i = 0; i != options.num_finite_outputs; ++i) {
    const char *name = options.finite_outputs[i];
    if (!name)
      return error.fail(KILN_INVALID_ARGUMENT, "finite_outputs: name %u is NULL", i);
    uint32_t index = 0;
    while (index != module.num_outputs && std::strcmp(module.outputs[index].name, name) != 0)
      ++index;
    if (index == module.num_outputs)
      return error.fail(KILN_INVALID_ARGUMENT, "finite_outputs: the model has no output '%s'",
                        name);
    if (!hasNotFinite(module.outputs[index].dtype))
      return error.fail(KILN_INVALID_ARGUMENT,
                        "finite_outputs: the elements of '%s' are always finite", name);
    guarded[index] = true;
  }
  return KILN_OK;
}

void Integrity::notify(kiln_event_kind kind, kiln_status_t status, const char *name,
                       const char *text, uint64_t value) {
  if (!onEvent)
    return;
  kiln_event event = {sizeof event, uint32_t(kind), status, name, text, value};
  onEvent(onEventUser, &event);
}

void Integrity::notifyBreaker(const char *text) {
  notify(KILN_EVENT_BREAKER, KILN_OK, "", text, breaker.state());
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

kiln_status_t Integrity::mend(uint64_t part, bool &mended, ErrorText &error) {
  PatientLock::Hold hold(mending);
  kiln_status_t status = KILN_OK;
  uint64_t bytes = 0;
  // Another thread may have been faster.
  if (!weights.isIntact(part, bytes)) {
    const char *name = module.weight_table[weights.weightOf(part)].name;
    status = weights.mend(weights.weightOf(part), reload, reloadUser, error);
    noteMending(status, name, weights.offsetOf(part), "memory", error);
  }
  mended |= status == KILN_OK;
  return status;
}

void Integrity::noteMending(kiln_status_t status, const char *name, uint64_t offset,
                            const char *place, const ErrorText &error) {
  bump(damaged);
  // What stays damaged must not be used: no run before a check of everything.
  bool opened = breaker.noteDamage(nanoseconds(), status != KILN_OK);
  TextBuilder text;
  text.append("a weight changed in %s", place);
  notify(KILN_EVENT_WEIGHT_DAMAGED, status, name, status == KILN_OK ? text.get() : error.get(),
         offset);
  if (status == KILN_OK) {
    bump(reloaded);
    notify(KILN_EVENT_WEIGHT_RELOADED, KILN_OK, name, "a weight was read again from its file", 0);
  }
  if (opened)
    notifyBreaker(status == KILN_OK ? "damage came too often: the circuit breaker opens"
                                    : "damage that stays: the circuit breaker opens");
}

kiln_status_t Integrity::checkParts(uint64_t first, uint64_t count, bool &mended,
                                    ErrorText &error) {
  uint64_t bytes = 0;
  kiln_status_t status = KILN_OK;
  for (uint64_t i = 0; i != count && status == KILN_OK; ++i) {
    uint64_t part = (first + i) % weights.numParts();
    if (!weights.isIntact(part, bytes)) [[unlikely]]
      status = mend(part, mended, error);
  }
  bump(checkedBytes, bytes);
  return status;
}

kiln_status_t Integrity::afterRun(uint64_t mendsBefore, uint64_t elapsed, bool &mended,
                                  ErrorText &error) {
  mended = false;
  kiln_status_t status = checkAfterRun(elapsed, mended, error);
  // What another thread mended meanwhile, this run may have read before.
  mended |= mends() != mendsBefore;
  return status;
}

kiln_status_t Integrity::checkAfterRun(uint64_t elapsed, bool &mended, ErrorText &error) {
  uint64_t parts = weights.numParts();
  if (rate == KILN_CHECK_NEVER || rate == KILN_CHECK_BACKGROUND || !parts)
    return KILN_OK;
  if (rate == KILN_CHECK_EVERY_RUN)
    return checkParts(0, parts, mended, error);
  if (!elapsed)
    return KILN_OK;
  uint64_t bytes = credit.exchange(0, std::memory_order_relaxed) +
                   uint64_t(double(elapsed) * kShare * weights.bytesPerNanosecond());
  bump(credit, bytes % WeightGuard::kPart);
  uint64_t due = std::min(bytes / WeightGuard::kPart, parts);
  uint64_t first = cursor.fetch_add(due, std::memory_order_relaxed);
  return checkParts(first, due, mended, error);
}

kiln_status_t Integrity::check(uint64_t bytes, ErrorText &error) {
  uint64_t parts = weights.numParts();
  uint64_t due = bytes / WeightGuard::kPart + (bytes % WeightGuard::kPart != 0);
  due = due ? std::min(due, parts) : parts;
  bool mended = false;
  kiln_status_t status =
      parts ? checkParts(cursor.fetch_add(due, std::memory_order_relaxed), due, mended, error)
            : KILN_OK;
  return status == KILN_OK ? checkDevices(bytes ? bytes : kEverything, mended, error) : status;
}

kiln_status_t Integrity::probe(ErrorText &error) {
  if (!breaker.mayProbe(nanoseconds())) {
    bump(refused);
    return error.fail(KILN_CIRCUIT_OPEN, "weights were damaged too often: runs are refused");
  }
  notifyBreaker("the circuit breaker is half open: all weights are checked");
  bool mended = false;
  kiln_status_t status = checkParts(0, weights.numParts(), mended, error);
  if (status == KILN_OK)
    status = checkDevices(kEverything, mended, error);
  breaker.endProbe(nanoseconds(), status == KILN_OK && !mended);
  if (breaker.state() == KILN_BREAKER_CLOSED) {
    notifyBreaker("all weights are whole: the circuit breaker closes");
    return KILN_OK;
  }
  notifyBreaker("there was damage again: the circuit breaker stays open");
  bump(refused);
  return status != KILN_OK
             ? status
             : error.fail(KILN_CIRCUIT_OPEN, "weights were damaged again: runs are refused");
}

//===----------------------------------------------------------------------===//
// Weights on devices
//===----------------------------------------------------------------------===//

Integrity::~Integrity() {
  watcher.stop();
  for (Attached &attached : devices)
    if (attached.queue)
      attached.queue->destroy();
}

void Integrity::attach(DeviceModel &device) {
  ErrorText ignored;
  DeviceQueue *queue;
  if (!device.checkSpeed() || device.open(nullptr, &queue, ignored) != KILN_OK)
    return;
  {
    Locked hold(attaching);
    for (Attached &attached : devices)
      if (!attached.queue) {
        attached = {&device, std::exchange(queue, nullptr)};
        break;
      }
  }
  if (queue)
    queue->destroy();
}

void Integrity::detach(DeviceModel &device) {
  auto drop = [&] {
    for (Attached &attached : devices)
      if (attached.device == &device) {
        attached.queue->destroy();
        attached = {};
      }
  };
  // In a child after fork nobody else is here, but may have been at that moment.
  if (device.isForked())
    return drop();
  Locked hold(attaching);
  drop();
}

kiln_status_t Integrity::checkDevices(uint64_t bytes, bool &mended, ErrorText &error) {
  for (Attached &attached : devices) {
    Locked hold(attaching);
    if (!attached.queue || attached.device->isLost())
      continue;
    if (kiln_status_t status = checkDevice(*attached.device, *attached.queue, bytes, mended, error))
      return status;
  }
  return KILN_OK;
}

kiln_status_t Integrity::checkDevice(DeviceModel &device, DeviceQueue &queue, uint64_t bytes,
                                     bool &mended, ErrorText &error) {
  const kiln_module &plan = *module.device->plan;
  uint32_t total = plan.num_weights, first = 0, count = 0;
  if (!total || !device.checkSpeed())
    return KILN_OK;
  if (bytes == kEverything) {
    count = total;
  } else {
    // Whole weights, when enough has come together for the next one.
    bytes += device.walk.credit.exchange(0, std::memory_order_relaxed);
    first = device.walk.next.load(std::memory_order_relaxed) % total;
    for (; count != total && plan.weight_table[(first + count) % total].size <= bytes; ++count)
      bytes -= plan.weight_table[(first + count) % total].size;
    device.walk.next.store((first + count) % total, std::memory_order_relaxed);
    if (count != total)
      bump(device.walk.credit, bytes);
  }
  uint32_t before = std::min(count, total - first);
  if (kiln_status_t status = checkThere(queue, first, before, mended, error))
    return status;
  return checkThere(queue, 0, count - before, mended, error);
}

kiln_status_t Integrity::checkThere(DeviceQueue &queue, uint32_t first, uint32_t count,
                                    bool &mended, ErrorText &error) {
  const kiln_module &plan = *module.device->plan;
  for (uint32_t end = first + count; first != end;) {
    uint32_t found;
    if (kiln_status_t status = queue.checkWeights(first, end - first, found, error))
      return status;
    for (; first != found; ++first)
      bump(checkedBytes, plan.weight_table[first].size);
    if (found == end)
      break;
    if (kiln_status_t status = mendThere(queue, found, mended, error))
      return status;
    ++first;
  }
  return KILN_OK;
}

kiln_status_t Integrity::mendThere(DeviceQueue &queue, uint32_t weight, bool &mended,
                                   ErrorText &error) {
  const kiln_module_weight &row = module.device->plan->weight_table[weight];
  PatientLock::Hold hold(mending);
  // What is copied must be whole itself.
  kiln_status_t status = weightsThere.matchesTable(weight)
                             ? KILN_OK
                             : weightsThere.mend(weight, reload, reloadUser, error);
  uint32_t found = weight;
  if (status == KILN_OK)
    status = queue.renewWeight(weight, error);
  if (status == KILN_OK)
    status = queue.checkWeights(weight, 1, found, error);
  if (status == KILN_OK && found == weight)
    status = error.fail(KILN_DAMAGED, "weight '%s' is damaged on the device as soon as it is there",
                        row.name);
  noteMending(status, row.name, row.offset, "a device's memory", error);
  mended |= status == KILN_OK;
  return status;
}

kiln_status_t Integrity::afterDeviceRun(DeviceModel &device, DeviceQueue &queue,
                                        uint64_t mendsBefore, uint64_t elapsed, bool &mended,
                                        ErrorText &error) {
  mended = false;
  kiln_status_t status = KILN_OK;
  if (rate == KILN_CHECK_EVERY_RUN)
    status = checkDevice(device, queue, kEverything, mended, error);
  else if (rate == KILN_CHECK_ROLLING)
    status = checkDevice(device, queue, uint64_t(double(elapsed) * kShare * device.checkSpeed()),
                         mended, error);
  mended |= mends() != mendsBefore;
  return status;
}

//===----------------------------------------------------------------------===//
// Outputs and figures
//===----------------------------------------------------------------------===//

kiln_status_t Integrity::checkOutput(uint32_t index, const void *data, uint64_t bytes,
                                     ErrorText &error) {
  const kiln_module_tensor &spec = module.outputs[index];
  uint64_t count = bytes / (spec.dtype.bits / 8);
  uint64_t found = findNotFinite(spec.dtype, data, count);
  if (found == count) [[likely]]
    return KILN_OK;
  bump(notFinite);
  kiln_status_t status =
      error.fail(KILN_NOT_FINITE, "output '%s' is not finite at element %llu of %llu", spec.name,
                 static_cast<unsigned long long>(found), static_cast<unsigned long long>(count));
  notify(KILN_EVENT_NOT_FINITE, status, spec.name, error.get(), found);
  return status;
}

void Integrity::fillStats(kiln_integrity_stats &out) const {
  kiln_integrity_stats stats = {};
  stats.struct_size = std::min(out.struct_size, sizeof stats);
  stats.checked_bytes = checkedBytes.load(std::memory_order_relaxed);
  stats.damaged = damaged.load(std::memory_order_relaxed);
  stats.reloaded = reloaded.load(std::memory_order_relaxed);
  stats.recomputed_runs = recomputed.load(std::memory_order_relaxed);
  stats.refused_runs = refused.load(std::memory_order_relaxed);
  stats.not_finite_runs = notFinite.load(std::memory_order_relaxed);
  stats.breaker_openings = breaker.openings();
  stats.breaker = breaker.state();
  std::memcpy(&out, &stats, stats.struct_size);
}

} // namespace kiln::rt
