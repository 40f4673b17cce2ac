/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The simulator, which this library needs, is found by whoever asks for libcuda.so.1 once it is
 * loaded: a handle finds the symbols of what its library needs. */
extern const int kiln_test_driver;
const int kiln_test_driver = 1;
