//===- Shim.h - CUDA C++ for the host compiler ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keywords, builtin variables and intrinsics of CUDA C++, and the models of
// instructions that only PTX has. Included by kiln/cuda/Device.h.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_SHIM_H
#define KILN_CUDASIM_SHIM_H

#ifndef __clang__
#error "kernels for the simulator are compiled by clang"
#endif

#include "kiln/cudasim/Keywords.h"

#include "kiln/cudasim/Warp.h"

#include "kiln/cudasim/Atomics.h"
#include "kiln/cudasim/Half.h"
#include "kiln/cudasim/Scalar.h"
#include "kiln/cudasim/Tiles.h"

#endif // KILN_CUDASIM_SHIM_H
