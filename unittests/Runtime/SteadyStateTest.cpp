//===- SteadyStateTest.cpp - Nothing is asked of the system ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Allocations.h"
#include "TestSupport.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

extern "C" const kiln_api *kiln_model_query(uint32_t abi);

using namespace kiln::test;

namespace {

/// Sees system calls of this thread without any privilege: the kernel turns each
/// into a signal while a byte says so (syscall user dispatch, Linux 5.11).
class SyscallWatch {
public:
  SyscallWatch() {
    struct sigaction action = {};
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, &before);
    active = prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) == 0;
  }
  ~SyscallWatch() {
    prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0);
    sigaction(SIGSYS, &before, nullptr);
  }
  bool works() const { return active; }

  /// The number of the first system call that `body` made, or -1. It does not
  /// happen: it fails with ENOSYS.
  template <typename Body> long firstOf(Body body) {
    seen = -1;
    selector = kBlock;
    body();
    selector = kAllow;
    return seen;
  }

private:
  static constexpr char kAllow = 0, kBlock = 1;

  static void note(int, siginfo_t *info, void *) {
    // The return from here is a system call as well.
    selector = kAllow;
    seen = info->si_syscall;
  }

  static inline volatile char selector = kAllow;
  static inline volatile long seen = -1;
  struct sigaction before = {};
  bool active = false;
};

class SteadyState : public testing::TestWithParam<uint32_t> {};

} // namespace

TEST_P(SteadyState, RunsMakeNoSystemCallsAndNoAllocations) {
#if defined(KILN_UNDER_TSAN) || !defined(__x86_64__)
  GTEST_SKIP() << "the sanitizer makes system calls of its own";
#endif
  const kiln_api *api = kiln_model_query(KILN_ABI_VERSION);
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  ASSERT_EQ(kiln_model_open(api, nullptr, &model), KILN_OK);
  kiln_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = GetParam();
  ASSERT_EQ(kiln_session_create(model, &options, &session), KILN_OK);
  {
    Tensor x({32, 8}), y({32, 4}), z({64, 4});
    x.fill(3);
    const DLTensor *inputs[] = {&x.view};
    DLTensor own = {};
    auto run = [&] {
      DLTensor late = {};
      own.data = nullptr;
      DLTensor *outputs[] = {&y.view, &own, &late};
      return kiln_run(session, inputs, 1, outputs, 3, nullptr);
    };
    auto runManaged = [&] {
      DLManagedTensorVersioned *outputs[3];
      kiln_status_t status = kiln_run_managed(session, inputs, 1, outputs, 3, nullptr);
      for (int i = 0; status == KILN_OK && i != 3; ++i)
        outputs[i]->deleter(outputs[i]);
      return status;
    };
    for (int i = 0; i != 10; ++i) {
      ASSERT_EQ(run(), KILN_OK);
      ASSERT_EQ(runManaged(), KILN_OK);
    }
    SyscallWatch watch;
    if (!watch.works())
      GTEST_SKIP() << "this kernel has no syscall user dispatch";
    ASSERT_EQ(watch.firstOf([] { syscall(SYS_getppid); }), SYS_getppid);
    uint64_t allocated = allocations;
    for (int i = 0; i != 1000; ++i) {
      kiln_status_t status = KILN_OK;
      long call = watch.firstOf([&] { status = i % 2 ? run() : runManaged(); });
      // Waking a worker is the one thing that may be asked of the system.
      if (GetParam() == 1 || call != SYS_futex)
        ASSERT_EQ(call, -1);
      ASSERT_EQ(status, KILN_OK);
    }
    EXPECT_EQ(allocations, allocated);
  }
  EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
  EXPECT_EQ(kiln_model_close(model), KILN_OK);
}

INSTANTIATE_TEST_SUITE_P(Threads, SteadyState, testing::Values(1u, 2u));
