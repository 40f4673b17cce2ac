//===- ParityTest.cpp - Code generation against the reference -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

using namespace kiln;

TEST(Parity, AddBroadcasts) {
  expectParity(R"(
    func.func @f(%a: tensor<?x7xf32, #kiln.dims<"s0">>, %b: tensor<7xf32>)
        -> tensor<?x7xf32, #kiln.dims<"s0">> {
      %0 = kiln.add %a, %b : (tensor<?x7xf32, #kiln.dims<"s0">>, tensor<7xf32>) -> tensor<?x7xf32, #kiln.dims<"s0">>
      return %0 : tensor<?x7xf32, #kiln.dims<"s0">>
    })");
}
