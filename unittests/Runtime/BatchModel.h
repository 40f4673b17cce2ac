/*===- BatchModel.h - What a test may set in BatchModel.c -----------------===*\
|*                                                                            *|
|* Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef KILN_UNITTESTS_RUNTIME_BATCHMODEL_H
#define KILN_UNITTESTS_RUNTIME_BATCHMODEL_H

#include <stdint.h>

#ifdef __cplusplus
#include <atomic>
extern "C" std::atomic<uint64_t> test_fixed_ns, test_row_ns, test_runs;
#else
#include <stdatomic.h>
extern _Atomic uint64_t test_fixed_ns, test_row_ns, test_runs;
#endif

#endif /* KILN_UNITTESTS_RUNTIME_BATCHMODEL_H */
