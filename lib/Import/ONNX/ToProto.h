//===- ToProto.h - Back from the neutral graph to protos --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX builds the bodies of some function operators from a NodeProto. The names
// of values in these protos are made from their ids.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_TOPROTO_H
#define KILN_LIB_IMPORT_ONNX_TOPROTO_H

#include "kiln/Import/ONNX/Graph.h"
#include <onnx/onnx_pb.h>

namespace kiln::onnx {

/// No name of ONNX's function bodies looks like this one; "" for noValue.
std::string protoName(ValueId value);
ONNX_NAMESPACE::TypeProto toProto(const Type &type);
ONNX_NAMESPACE::NodeProto toProto(const Model &model, const Node &node);

} // namespace kiln::onnx

#endif
