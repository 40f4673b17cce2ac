//===- kiln-c/kiln.hpp - The C interface as C++ objects ------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C++17, header only: objects that close themselves, tensors over containers,
// statuses as exceptions of kiln::Error. Each object is a handle of the C
// interface and gives it by get(), so both can be mixed; what the C headers say
// about threads and lifetimes holds. An object must go before those it was made
// from: members and local variables in the order of their making do so.
//
//   kiln::Artefact artefact("model.so");
//   kiln::Model model(artefact);
//   kiln::Session session(model);
//   std::vector<float> x(2 * 8);
//   std::vector<kiln::Output> outputs = session.run({kiln::view(x, {2, 8})});
//   const float *y = outputs[0].data<float>();
//
//===----------------------------------------------------------------------===//
#ifndef KILN_C_KILN_HPP
#define KILN_C_KILN_HPP

#include "kiln-c/Batcher.h"
#include "kiln-c/Loader.h"
#include "kiln-c/Runtime.h"

#include <array>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

class Error : public std::runtime_error {
public:
  Error(kiln_status_t status, const std::string &text)
      : std::runtime_error(text.empty() ? kiln_status_name(status) : text), code(status) {}
  kiln_status_t status() const { return code; }

private:
  kiln_status_t code;
};

inline void check(kiln_status_t status, const char *text = "") {
  if (status != KILN_OK)
    throw Error(status, text);
}

/// An option struct with its struct_size set and all else zero.
template <typename Options> Options defaults() {
  Options options = {};
  options.struct_size = sizeof options;
  return options;
}

namespace detail {

/// Owns a handle; `Close` gives it back.
template <typename Handle, kiln_status_t (*Close)(Handle *)> class Owner {
public:
  Owner() = default;
  Owner(Owner &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Owner &operator=(Owner &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Owner() {
    if (handle)
      Close(handle);
  }
  Handle *get() const { return handle; }

protected:
  Handle *handle = nullptr;
};

inline kiln_status_t closeModel(kiln_model *model) { return kiln_model_close(model); }
inline kiln_status_t closeArtefact(kiln_artefact *artefact) { return kiln_close(artefact); }
inline kiln_status_t closeSession(kiln_session *session) { return kiln_session_destroy(session); }
inline kiln_status_t closeExecutor(kiln_executor *e) { return kiln_executor_destroy(e); }
inline kiln_status_t closePool(kiln_pool *pool) { return kiln_pool_destroy(pool); }
inline kiln_status_t closeBatcher(kiln_batcher *b) { return kiln_batcher_close(b, KILN_CLOSE_DRAIN); }

/// Calls `make` with an option struct that has room for a reason.
template <typename Options, typename Make> void make(Options options, Make make) {
  char reason[512] = "";
  options.struct_size = sizeof options;
  options.error = reason;
  options.error_size = sizeof reason;
  kiln_status_t status = make(&options);
  check(status, reason);
}

/// Of calls that write what fits and return the length of all, which may have grown
/// a little in between.
template <typename Write> std::string readText(Write write) {
  std::string text(write(nullptr, 0) + 64, '\0');
  write(&text[0], text.size());
  text.resize(text.find('\0'));
  return text;
}

/// What the C interface takes: pointers to the views' tensors.
template <typename Views> std::vector<DLTensor *> pointers(Views &views) {
  std::vector<DLTensor *> tensors;
  for (auto &view : views)
    tensors.push_back(view.get());
  return tensors;
}

template <typename T> constexpr DLDataType typeOf() {
  static_assert(std::is_arithmetic<T>::value, "no element type of a tensor");
  uint8_t code = std::is_same<T, bool>::value       ? kDLBool
                 : std::is_floating_point<T>::value ? kDLFloat
                 : std::is_signed<T>::value         ? kDLInt
                                                    : kDLUInt;
  return {code, uint8_t(8 * sizeof(T)), 1};
}

inline uint64_t countOf(const int64_t *dim, const int64_t *end) {
  uint64_t count = 1;
  for (; dim != end; ++dim)
    count *= uint64_t(*dim);
  return count;
}
} // namespace detail

using PublicKey = std::array<uint8_t, 32>;

/// From a PEM file.
inline PublicKey readPublicKey(const std::string &path) {
  PublicKey key;
  char reason[512] = "";
  kiln_status_t status = kiln_public_key_read(path.c_str(), key.data(), reason, sizeof reason);
  check(status, reason);
  return key;
}

class Artefact : public detail::Owner<kiln_artefact, detail::closeArtefact> {
public:
  /// With keys, one of them must have signed the file.
  explicit Artefact(const std::string &path, uint32_t flags = 0,
                    const std::vector<PublicKey> &trusted = {}) {
    auto options = defaults<kiln_open_options>();
    options.flags = flags;
    options.trusted_keys = trusted.empty() ? nullptr : trusted[0].data();
    options.num_trusted_keys = uint32_t(trusted.size());
    detail::make(options, [&](auto *o) { return kiln_open(path.c_str(), o, &handle); });
  }
  const kiln_api *api() const { return kiln_artefact_api(handle); }
};

class Executor : public detail::Owner<kiln_executor, detail::closeExecutor> {
public:
  explicit Executor(uint32_t threads = 0) {
    auto options = defaults<kiln_executor_options>();
    options.threads = threads;
    detail::make(options, [&](auto *o) { return kiln_shared_executor_create(o, &handle); });
  }
  explicit Executor(const kiln_executor_options &options) {
    detail::make(options, [&](auto *o) { return kiln_shared_executor_create(o, &handle); });
  }
  uint32_t threads() const { return kiln_executor_threads(handle); }
};

class Pool : public detail::Owner<kiln_pool, detail::closePool> {
public:
  explicit Pool(const kiln_pool_options &options = {}) {
    detail::make(options, [&](auto *o) { return kiln_shared_pool_create(o, &handle); });
  }
  kiln_pool_stats stats() const {
    auto stats = defaults<kiln_pool_stats>();
    check(kiln_pool_get_stats(handle, &stats));
    return stats;
  }
  void trim(uint64_t keep = 0) { check(kiln_pool_trim(handle, keep)); }
};

class Model : public detail::Owner<kiln_model, detail::closeModel> {
public:
  explicit Model(const kiln_api *api, const kiln_model_options &options = {}) {
    detail::make(options, [&](auto *o) { return kiln_model_open(api, o, &handle); });
  }
  explicit Model(const Artefact &artefact, const kiln_model_options &options = {})
      : Model(artefact.api(), options) {}

  kiln_model_info info() const {
    auto info = defaults<kiln_model_info>();
    kiln_model_get_info(handle, &info);
    return info;
  }
  std::string error() const {
    return detail::readText(
        [&](char *text, size_t size) { return kiln_model_error(handle, text, size); });
  }
  kiln_metrics metrics() const {
    auto metrics = defaults<kiln_metrics>();
    check(kiln_model_get_metrics(handle, &metrics));
    return metrics;
  }
  kiln_integrity_stats integrity() const {
    auto stats = defaults<kiln_integrity_stats>();
    check(kiln_model_get_integrity(handle, &stats));
    return stats;
  }
  /// For Prometheus.
  std::string metricsText() const {
    return detail::readText(
        [&](char *text, size_t size) { return kiln_model_metrics_text(handle, text, size); });
  }
  /// Checks at least so many bytes of weights, 0: all; throws when damage stays.
  void checkWeights(uint64_t bytes = 0) {
    kiln_status_t status = kiln_model_check(handle, bytes);
    if (status != KILN_OK)
      throw Error(status, error());
  }
};

/// A tensor over memory of the caller's, which must outlive it.
class View {
public:
  View(void *data, DLDataType type, std::vector<int64_t> dims, DLDevice place = {kDLCPU, 0})
      : shape(std::move(dims)) {
    tensor.data = data;
    tensor.device = place;
    tensor.dtype = type;
    tensor.ndim = int32_t(shape.size());
  }
  /// Valid until this object changes or goes.
  DLTensor *get() {
    tensor.shape = shape.data();
    return &tensor;
  }
  uint64_t elements() const { return detail::countOf(shape.data(), shape.data() + shape.size()); }

private:
  std::vector<int64_t> shape;
  DLTensor tensor = {};
};

/// Of a contiguous container, whose size has to be that of the shape.
template <typename Container> View view(Container &container, std::vector<int64_t> shape) {
  using Element = std::remove_const_t<std::remove_pointer_t<decltype(container.data())>>;
  View made(const_cast<Element *>(container.data()), detail::typeOf<Element>(), std::move(shape));
  if (made.elements() != container.size())
    throw Error(KILN_INVALID_SHAPE, "a view's shape has " + std::to_string(made.elements()) +
                                        " elements, its container " +
                                        std::to_string(container.size()));
  return made;
}

/// A result that lives on its own: its session may go, its artefact may not.
class Output {
public:
  explicit Output(DLManagedTensorVersioned *tensor) : managed(tensor) {}
  Output(Output &&other) noexcept : managed(std::exchange(other.managed, nullptr)) {}
  Output &operator=(Output &&other) noexcept {
    std::swap(managed, other.managed);
    return *this;
  }
  ~Output() {
    if (managed)
      managed->deleter(managed);
  }
  const DLTensor &tensor() const { return managed->dl_tensor; }
  std::vector<int64_t> shape() const { return {tensor().shape, tensor().shape + tensor().ndim}; }
  uint64_t elements() const {
    return detail::countOf(tensor().shape, tensor().shape + tensor().ndim);
  }
  /// Throws when the elements are of another type. Of a device's memory (tensor()
  /// says where it lies) the address is no use here.
  template <typename T> const T *data() const {
    DLDataType wanted = detail::typeOf<T>(), have = tensor().dtype;
    if (wanted.code != have.code || wanted.bits != have.bits)
      throw Error(KILN_INVALID_TYPE, "the output's elements are of another type");
    return static_cast<const T *>(tensor().data);
  }
  /// Gives it away, as DLPack has it.
  DLManagedTensorVersioned *release() { return std::exchange(managed, nullptr); }

private:
  DLManagedTensorVersioned *managed;
};

class Session : public detail::Owner<kiln_session, detail::closeSession> {
public:
  explicit Session(const Model &model, kiln_session_options options = {}) : owner(model.get()) {
    options.struct_size = sizeof options;
    kiln_status_t status = kiln_session_create(owner, &options, &handle);
    if (status != KILN_OK)
      throw Error(status, model.error());
  }

  /// Into new memory.
  std::vector<Output> run(std::vector<View> inputs, kiln_run_options options = {}) {
    options.struct_size = sizeof options;
    std::vector<DLTensor *> in = detail::pointers(inputs);
    uint32_t count = numOutputs();
    std::vector<DLManagedTensorVersioned *> out(count);
    check(kiln_run_managed(handle, in.data(), uint32_t(in.size()), out.data(), count, &options),
          kiln_session_error(handle));
    std::vector<Output> outputs;
    outputs.reserve(count);
    for (DLManagedTensorVersioned *tensor : out)
      outputs.emplace_back(tensor);
    return outputs;
  }

  /// Into the caller's memory, which makes no allocation inside of Kiln.
  void run(std::vector<View> inputs, std::vector<View> outputs, kiln_run_options options = {}) {
    options.struct_size = sizeof options;
    std::vector<DLTensor *> in = detail::pointers(inputs), out = detail::pointers(outputs);
    check(kiln_run(handle, in.data(), uint32_t(in.size()), out.data(), uint32_t(out.size()),
                   &options),
          kiln_session_error(handle));
  }
  /// For runs with KILN_RUN_ASYNC.
  void wait() { check(kiln_session_wait(handle), kiln_session_error(handle)); }

  /// Where it runs, and why there.
  std::string device() const { return askForDevice().first; }
  std::string deviceReason() const { return askForDevice().second; }

  kiln_pool *pool() const { return kiln_session_pool(handle); }

private:
  std::pair<const char *, const char *> askForDevice() const {
    const char *name = "cpu", *why = "";
    kiln_session_get_device(handle, &name, &why); // an older artefact has the CPU alone
    return {name, why};
  }
  uint32_t numOutputs() const {
    auto info = defaults<kiln_model_info>();
    kiln_model_get_info(owner, &info);
    return info.num_outputs;
  }

  kiln_model *owner;
};

/// Requests that share runs. Its model, and memory of requests under way, must stay;
/// its end waits for those.
class Batcher : public detail::Owner<kiln_batcher, detail::closeBatcher> {
public:
  explicit Batcher(const Model &model, const kiln_batcher_options &options = {}) {
    detail::make(options, [&](auto *o) { return kiln_batcher_create(model.get(), o, &handle); });
  }

  /// Waits for the result, which is in `outputs` then.
  void run(std::vector<View> inputs, std::vector<View> outputs, kiln_submit_options options = {}) {
    std::vector<DLTensor *> in = detail::pointers(inputs), out = detail::pointers(outputs);
    options.struct_size = sizeof options;
    options.done = nullptr;
    check(kiln_batcher_run(handle, in.data(), uint32_t(in.size()), out.data(), uint32_t(out.size()),
                           &options));
  }

  /// Gives a future that is ready, or holds an Error, when the request is done. The
  /// views' memory must stay until then.
  std::future<void> submit(std::vector<View> inputs, std::vector<View> outputs,
                           kiln_submit_options options = {}) {
    auto request = std::make_unique<Request>();
    request->inputs = std::move(inputs);
    request->outputs = std::move(outputs);
    request->out = detail::pointers(request->outputs);
    std::vector<DLTensor *> in = detail::pointers(request->inputs);
    std::future<void> future = request->promise.get_future();
    options.struct_size = sizeof options;
    options.done = finish;
    options.user = request.get();
    check(kiln_batcher_submit(handle, in.data(), uint32_t(in.size()), request->out.data(),
                              uint32_t(request->out.size()), &options, nullptr));
    (void)request.release(); // finish() has it
    return future;
  }

  void drain() { check(kiln_batcher_drain(handle, UINT64_MAX)); }
  /// Gives up what waits; at the end of its life it runs that instead.
  void cancel() {
    check(kiln_batcher_close(handle, KILN_CLOSE_CANCEL));
    handle = nullptr;
  }
  /// What the host's sensors say; both in [0, 1].
  void setLoad(double memory, double throttle) {
    check(kiln_batcher_set_load(handle, memory, throttle));
  }
  kiln_batcher_stats stats() const {
    auto stats = defaults<kiln_batcher_stats>();
    check(kiln_batcher_get_stats(handle, &stats));
    return stats;
  }
  /// For Prometheus.
  std::string metricsText() const {
    return detail::readText(
        [&](char *text, size_t size) { return kiln_batcher_metrics_text(handle, text, size); });
  }

private:
  struct Request {
    std::vector<View> inputs, outputs;
    std::vector<DLTensor *> out;
    std::promise<void> promise;
  };
  static void finish(void *user, kiln_ticket, kiln_status_t status, const DLTensor *const *,
                     uint32_t) {
    std::unique_ptr<Request> request(static_cast<Request *>(user));
    if (status == KILN_OK)
      request->promise.set_value();
    else
      request->promise.set_exception(std::make_exception_ptr(Error(status, "")));
  }
};

} // namespace kiln

#endif // KILN_C_KILN_HPP
