//===- Session.h - The mutable half: one run at a time ------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_SESSION_H
#define KILN_RUNTIME_CORE_SESSION_H

#include "Binding.h"
#include "DeviceRun.h"
#include "Model.h"
#include "PlanTable.h"
#include "Planner.h"
#include "Profile.h"
#include "RunMemory.h"

namespace kiln::rt {

class Session;

/// What generated code sees, and the way back from it.
struct Frame : kiln_module_frame {
  Session *session;
};

/// Keeps a pool alive.
class PoolUse {
public:
  PoolUse() = default;
  PoolUse(const PoolUse &) = delete;
  PoolUse &operator=(const PoolUse &) = delete;
  ~PoolUse() {
    if (pool)
      pool->api->drop(pool);
  }
  void set(kiln_pool *used) {
    pool = used;
    pool->api->retain(pool);
  }
  kiln_pool *get() const { return pool; }

private:
  kiln_pool *pool = nullptr;
};

/// Where one output of the run under way goes.
struct OutputSlot {
  enum class Owner : uint8_t { Caller, Session, Managed };

  Owner owner = Owner::Session;
  /// The generated code writes elsewhere (alignment), the result is copied.
  bool copyBack = false;
  /// `memory` is the device's.
  bool onDevice = false;
  uint8_t *memory = nullptr;
  /// Of the caller's memory, for an output whose size only the run knows.
  uint64_t capacity = 0;
  uint64_t bytes = 0;
  DLTensor *tensor = nullptr;
  DLManagedTensorVersioned *managed = nullptr;
  /// Of this run: the plan's, or those that the run found.
  const int64_t *dims = nullptr;
  /// Memory of the session, `rank` of each.
  int64_t *ownDims = nullptr;
  int64_t *strides = nullptr;
  /// Memory of the session, or the place to copy back from.
  Block block;
};

class Session : public kiln_session {
public:
  static kiln_status_t create(Model &model, const kiln_session_options *options,
                              kiln_session **session);
  static Session &of(kiln_session *session) { return *static_cast<Session *>(session); }

  /// `module`: the plan to run, one of the model's.
  Session(Model &model, const kiln_module &module);
  ~Session();

  const char *errorText() const { return (twin ? twin->error : error).get(); }
  /// Of the device that it runs on, and why that one.
  const char *deviceName() const { return twin ? twin->deviceName() : deviceText.get(); }
  const char *deviceChoice() const { return (twin ? twin->choice : choice).get(); }
  kiln_pool *memoryPool() const { return pool.get(); }
  /// Null on a CPU.
  kiln_pool *devicePool() const { return device ? device->queue->pool() : nullptr; }

  kiln_status_t destroy();
  /// For runs that nobody has waited for.
  kiln_status_t wait();
  kiln_status_t outputShapes(const DLTensor *const *inputs, uint32_t numInputs,
                             DLTensor *const *outputs, uint32_t numOutputs);
  kiln_status_t run(const DLTensor *const *inputs, uint32_t numInputs, DLTensor *const *outputs,
                    uint32_t numOutputs, const kiln_run_options *options);
  kiln_status_t runManaged(const DLTensor *const *inputs, uint32_t numInputs,
                           DLManagedTensorVersioned **outputs, uint32_t numOutputs,
                           const kiln_run_options *options);

  kiln_status_t copyProfile(kiln_profile_row *rows, uint32_t capacity, uint32_t &count);
  kiln_status_t copyTrace(kiln_trace_event *events, uint32_t capacity, uint32_t &count);
  kiln_status_t resetProfile();
  kiln_status_t describePlan(kiln_memory_plan &plan, kiln_plan_buffer *buffers, uint32_t capacity);

private:
  static constexpr kiln_module_services servicesWith(decltype(kiln_module_services::launch) launch);
  static const kiln_module_services aloneServices;
  static const kiln_module_services teamServices;
  static const kiln_module_services profiledServices;
  static const kiln_module_services deviceServices;
  static Session &of(kiln_module_frame *frame) { return *static_cast<Frame *>(frame)->session; }

  /// KILN_UNSUPPORTED without a profile.
  template <typename Body> kiln_status_t withProfile(Body body);
  kiln_status_t describeLatestPlan(kiln_memory_plan &plan, kiln_plan_buffer *buffers,
                                   uint32_t capacity);
  bool allocate();
  /// `device`: where to run; null for the CPU.
  static kiln_status_t make(Model &model, const kiln_session_options &options, DeviceModel *device,
                            ErrorText &reason, Session *&session);
  kiln_status_t setUp(const kiln_session_options &options);
  kiln_status_t setUpDevice(const kiln_session_options &options);

  /// False: another call is under way.
  bool enter();
  void leave() {
    busy.store(busy.load(std::memory_order_relaxed) & ~uint64_t(1), std::memory_order_release);
  }

  /// Makes a call with the one who answers for the session: itself or its twin.
  template <typename Call> kiln_status_t locked(Call call) {
    if (!enter()) [[unlikely]]
      return KILN_BUSY;
    kiln_status_t status = call(twin ? *twin : *this);
    leave();
    return status;
  }
  /// The same of a run, which the twin makes again when the device fails.
  template <typename Call> kiln_status_t lockedRun(Call call) {
    return locked([&](Session &session) {
      kiln_status_t status = call(session);
      return session.deviceFault && session.handOver(status) ? call(*session.twin) : status;
    });
  }
  kiln_status_t takeRunOptions(const kiln_run_options *options);
  kiln_status_t beginRun(const DLTensor *const *inputs, uint32_t numInputs, const void *results,
                         uint32_t numOutputs, const kiln_run_options *options);
  kiln_status_t askForShapes(const DLTensor *const *inputs, uint32_t numInputs,
                             DLTensor *const *outputs, uint32_t numOutputs);
  kiln_status_t checkCounts(const DLTensor *const *inputs, uint32_t numInputs, const void *outputs,
                            uint32_t numOutputs);
  /// Binds symbols and finds the inputs' memory. Without `needData`, missing
  /// data leaves a null pointer.
  kiln_status_t bindInputs(bool needData, bool &haveData);
  kiln_status_t takeDeviceInput(uint32_t index, const DLTensor &tensor, uint64_t bytes,
                                bool needData);
  kiln_status_t takeInput(uint32_t index, const DLTensor &tensor, uint64_t bytes, bool needData);
  kiln_status_t stageInput(uint32_t index, const DLTensor &tensor, uint64_t bytes);
  /// Copies inputs that lie where an output will be written, or in a block that
  /// may be given back to grow.
  kiln_status_t separateInputs(const uint8_t *memory, uint64_t bytes);
  kiln_status_t findPlan(const void *const *inputData, Plan *&plan);
  kiln_status_t makePlan(Plan &plan);

  kiln_status_t placeOutputs(const Plan &plan);
  /// Finds memory for an output whose dims and bytes are known.
  kiln_status_t placeOutput(uint32_t index, OutputSlot &slot);
  /// After a trim of the pool: what this run's shapes do not need goes.
  void giveBack(const Plan &plan);
  kiln_status_t execute();
  /// execute(), counted and, where asked for, timed.
  kiln_status_t countedRun();
  kiln_status_t noteFailure(kiln_status_t status);
  kiln_status_t callModule(Plan &plan);
  kiln_status_t call(Plan &plan) { return device ? callDevice(plan) : callModule(plan); }
  /// The same under the eyes of the model's Integrity.
  kiln_status_t callWatched(Plan &plan);
  // DeviceRun.cpp
  kiln_status_t enterDevice();
  kiln_status_t callDevice(Plan &plan);
  kiln_status_t launchOnDevice(Plan &plan);
  kiln_status_t bringInputs();
  /// Finds memory there for an output that has its place here.
  kiln_status_t moveOutput(uint32_t index);
  void *placeLateOnDevice(uint32_t index, const int64_t *dims);
  kiln_status_t placeOnDevice(uint32_t index, OutputSlot &slot);
  /// Whether a caller's memory can be what it says it is.
  kiln_status_t checkOnDevice(const char *kind, const kiln_module_tensor &spec, const void *memory,
                              uint64_t bytes);
  /// Although the caller does not want to.
  bool mustWait() const;
  /// An output's elements for the host, until the next call.
  kiln_status_t fetchOutput(uint32_t index, const void *&data);
  /// After a failure with that status: the twin answers from now on. False when it
  /// may not or cannot.
  bool handOver(kiln_status_t status);
  void closeDevice();
  /// False when there is no memory.
  bool createManaged(uint32_t index, OutputSlot &slot);
  void finishOutputs();
  void dropManaged();

  // The services of generated code.
  static void *allocateForRun(kiln_module_frame *frame, uint64_t bytes);
  static void releaseForRun(kiln_module_frame *frame, void *memory);
  static void *markForRun(kiln_module_frame *frame);
  static void releaseSinceForRun(kiln_module_frame *frame, void *mark, void *const *kept,
                                 uint32_t count);
  static void *lateOutput(kiln_module_frame *frame, uint32_t index, const int64_t *dims);
  void *placeLateOutput(uint32_t index, const int64_t *dims);
  void launchAlone(kiln_module_kernel_fn kernel, const void *args, int64_t extent, uint32_t chunks);
  void launchProfiled(uint32_t index, kiln_module_kernel_fn kernel, const void *args,
                      int64_t extent, uint32_t chunks);
  void launchTeam(kiln_module_kernel_fn kernel, const void *args, int64_t extent, uint32_t chunks);

  Model &model;
  const kiln_module &module;
  /// generation << 1 | taken, as in Executor.
  std::atomic<uint64_t> busy{0};
  /// Null: the CPU.
  DeviceRun *device = nullptr;
  DeviceModel *deviceModel = nullptr;
  TextBuilder deviceText;
  /// Where tensors may lie beside the host's memory.
  DLDevice place = {kDLCPU, 0};
  /// A session on the CPU that answers once the device has failed.
  Session *twin = nullptr;
  bool mayHandOver = false;
  kiln_session_options twinOptions = {};
  // Of the run under way: its options, whether tensors or options are of the
  // device, and whether it is the device that has failed.
  uint32_t runFlags = 0;
  void *runStream = nullptr;
  bool callOnDevice = false;
  bool deviceFault = false;
  kiln_executor *executor = nullptr;
  bool ownsExecutor = false;
  uint32_t scratchSlots = 1;
  uint64_t scratchStride = 0;
  /// Why a service gave up, when generated code only says that it did.
  kiln_status_t serviceStatus = KILN_OK;

  // The inputs of the call under way.
  const DLTensor *const *callInputs = nullptr;
  uint32_t numCallInputs = 0;

  /// Before whatever has memory of it.
  PoolUse pool;
  uint64_t seenTrims = 0;
  bool givesBack = false;
  Frame frame = {};
  Array<int64_t> symbols;
  Array<const void *> inputData;
  Array<uint64_t> inputBytes;
  Array<Block> inputCopies;
  Array<void *> outputData;
  Array<OutputSlot> outputs;
  Array<int64_t> outputDims;
  Array<uint64_t> sizes;
  RunCounts counts;
  bool timesRuns = false;
  /// Of rolling checks.
  Pace pace;
  bool profiles = false;
  bool inTeam = false;
  Profile profile;
  PlanTable plans;
  Planner planner;
  Block arena;
  RunMemory runMemory;
  ErrorText error;
  ErrorText choice;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_SESSION_H
