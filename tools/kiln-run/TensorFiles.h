//===- TensorFiles.h - Reading and writing .npy and .pb files - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_TENSORFILES_H
#define KILN_TOOLS_KILN_RUN_TENSORFILES_H

#include "HostTensor.h"

#include <string_view>

namespace kiln::run {

Failure readFile(const std::string &path, std::string &contents);
Failure writeFile(const std::string &path, std::string_view contents);

/// By suffix: NumPy's .npy or ONNX's TensorProto in a .pb.
Failure readTensor(const std::string &path, HostTensor &tensor);

/// `npy` is a file's contents. bfloat16, which NumPy lacks, is uint16 there.
Failure parseNpy(std::string_view npy, HostTensor &tensor);
std::string formatNpy(const HostTensor &tensor);

/// `proto` is a serialised onnx.TensorProto.
Failure parseTensorProto(std::string_view proto, HostTensor &tensor);

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_TENSORFILES_H
