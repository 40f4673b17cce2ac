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
    bump(damaged);
    status = weights.mend(weights.weightOf(part), reload, reloadUser, error);
    // What stays damaged must not be used: no run before a check of everything.
    bool opened = breaker.noteDamage(nanoseconds(), status != KILN_OK);
    notify(KILN_EVENT_WEIGHT_DAMAGED, status, name,
           status == KILN_OK ? "a weight changed in memory" : error.get(), weights.offsetOf(part));
    if (status == KILN_OK) {
      bump(reloaded);
      notify(KILN_EVENT_WEIGHT_RELOADED, KILN_OK, name, "a weight was read again from its file", 0);
    }
    if (opened)
      notifyBreaker(status == KILN_OK ? "damage came too often: the circuit breaker opens"
                                      : "damage that stays: the circuit breaker opens");
  }
  mended |= status == KILN_OK;
  return status;
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
  return parts ? checkParts(cursor.fetch_add(due, std::memory_order_relaxed), due, mended, error)
               : KILN_OK;
}

kiln_status_t Integrity::probe(ErrorText &error) {
  if (!breaker.mayProbe(nanoseconds())) {
    bump(refused);
    return error.fail(KILN_CIRCUIT_OPEN, "weights were damaged too often: runs are refused");
  }
  notifyBreaker("the circuit breaker is half open: all weights are checked");
  bool mended = false;
  kiln_status_t status = checkParts(0, weights.numParts(), mended, error);
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
