//===- Query.cpp - The one symbol of an artefact --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Executor.h"
#include "Model.h"
#include "Pool.h"
#include "Session.h"
#include "batch/Batcher.h"

// Hidden, or the linker would go through the GOT, and an artefact could be
// given another's table.
#pragma GCC visibility push(hidden)
extern "C" const kiln_module kiln_generated_module;
#pragma GCC visibility pop

namespace kiln::rt {
namespace {

kiln_status_t openModel(const kiln_model_options *options, kiln_model **model);

constinit const kiln_api kApi = {
    sizeof(kiln_api),
    KILN_ABI_VERSION,
    openModel,
    [](kiln_model *model) { return Model::of(model).close(); },
    [](const kiln_model *model, kiln_model_info *info) { Model::of(model).fillInfo(*info); },
    [](const kiln_model *model, uint32_t index) { return Model::of(model).input(index); },
    [](const kiln_model *model, uint32_t index) { return Model::of(model).output(index); },
    [](kiln_model *model, char *text, size_t size) {
      return Model::of(model).copyError(text, size);
    },
    Executor::create,
    [](kiln_model *model, const kiln_session_options *options, kiln_session **session) {
      return Session::create(Model::of(model), options, session);
    },
    [](kiln_session *session) { return Session::of(session).destroy(); },
    [](const kiln_session *session) { return static_cast<const Session *>(session)->errorText(); },
    [](kiln_session *session, const DLTensor *const *inputs, uint32_t numInputs,
       DLTensor *const *outputs, uint32_t numOutputs) {
      return Session::of(session).outputShapes(inputs, numInputs, outputs, numOutputs);
    },
    [](kiln_session *session, const DLTensor *const *inputs, uint32_t numInputs,
       DLTensor *const *outputs, uint32_t numOutputs, const kiln_run_options *options) {
      return Session::of(session).run(inputs, numInputs, outputs, numOutputs, options);
    },
    [](kiln_session *session, const DLTensor *const *inputs, uint32_t numInputs,
       DLManagedTensorVersioned **outputs, uint32_t numOutputs, const kiln_run_options *options) {
      return Session::of(session).runManaged(inputs, numInputs, outputs, numOutputs, options);
    },
    []() { return liveObjects.load(std::memory_order_acquire); },
    [](kiln_model *model, const kiln_batcher_options *options, kiln_batcher **batcher) {
      return Batcher::create(model, options, batcher);
    },
    Pool::create,
    [](kiln_session *session) { return Session::of(session).memoryPool(); },
    [](kiln_model *model, uint64_t bytes) { return Model::of(model).check(bytes); },
    [](const kiln_model *model, kiln_integrity_stats *stats) {
      Model::of(model).fillIntegrity(*stats);
      return KILN_OK;
    },
    [](kiln_model *model, kiln_metrics *metrics) {
      Model::of(model).metrics.fill(*metrics);
      return KILN_OK;
    },
    [](kiln_model *model, char *text, size_t size) {
      return writeMetrics(Model::of(model), text, size);
    },
    [](kiln_session *session, kiln_profile_row *rows, uint32_t capacity, uint32_t *count) {
      return Session::of(session).copyProfile(rows, capacity, *count);
    },
    [](kiln_session *session, kiln_trace_event *events, uint32_t capacity, uint32_t *count) {
      return Session::of(session).copyTrace(events, capacity, *count);
    },
    [](kiln_session *session) { return Session::of(session).resetProfile(); },
    [](kiln_session *session, kiln_memory_plan *plan, kiln_plan_buffer *buffers,
       uint32_t capacity) { return Session::of(session).describePlan(*plan, buffers, capacity); },
    [](const kiln_session *session, const char **name, const char **why) {
      auto &own = *static_cast<const Session *>(session);
      *name = own.deviceName();
      *why = own.deviceChoice();
    },
    [](kiln_session *session) { return Session::of(session).wait(); },
    [](kiln_session *session) { return Session::of(session).devicePool(); },
};

kiln_status_t openModel(const kiln_model_options *options, kiln_model **model) {
  return Model::open(kApi, kiln_generated_module, options, model);
}

} // namespace
} // namespace kiln::rt

extern "C" [[gnu::visibility("default")]] const kiln_api *kiln_model_query(uint32_t abi);

const kiln_api *kiln_model_query(uint32_t abi) {
  return abi >> 16 == KILN_ABI_MAJOR ? &kiln::rt::kApi : nullptr;
}
