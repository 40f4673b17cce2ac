//===- Recurrent.td - Recurrent layers over time -----------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_StateTensor : RankedTensorOf<[F32, F64]>;
def Kiln_LengthTensor : RankedTensorOf<[I32]>;

/// Shared by all: what runs over time, its weights, where it starts.
class Kiln_RecurrentOp<string mnemonic, dag operands, dag attributes, dag outputs>
    : Kiln_PureOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = !con((ins Kiln_StateTensor:$x, Kiln_StateTensor:$r, Optional<Kiln_LengthTensor>:$lengths,
                            Optional<Kiln_StateTensor>:$initial_h),
                       operands,
                       (ins StrAttr:$direction, StrArrayAttr:$activations, DenseF64ArrayAttr:$alpha,
                            DenseF64ArrayAttr:$beta, OptionalAttr<F64Attr>:$clip),
                       attributes);
  let results = !con((outs Kiln_StateTensor:$y, Kiln_StateTensor:$y_h), outputs);
}

def Kiln_RnnOp : Kiln_RecurrentOp<"rnn", (ins), (ins), (outs)> {
  let summary = "h = f(x + h * R), over time.";
  let description = [{
    x is [time, batch, directions * hidden], already projected: input weights
    and all biases are in it. r is R transposed and cut into panels:
    [directions, panels, hidden, columns], where panels * columns are the
    columns of all gates. `lengths` are the steps of each batch entry; steps
    beyond give zeros. `direction` is forward, reverse or bidirectional; a
    reverse direction begins at an entry's last step. y is [time, directions,
    batch, hidden], y_h the last state [directions, batch, hidden].

    `activations` name f (then, for each further direction, its f), with one
    `alpha` and `beta` each; `clip` bounds what goes into them.

    (C1) ranks and sizes are as told; (C2) direction and activations are known,
    and there are as many of the latter as of alpha and beta; (C3) columns do
    not cross gates.

    ```mlir
    %1:2 = kiln.rnn %0, %r {direction = "forward", activations = ["tanh"], alpha = array<f64: 0.0>,
        beta = array<f64: 0.0>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}
        : (tensor<7x2x16xf32>, tensor<1x1x16x16xf32>) -> (tensor<7x1x2x16xf32>, tensor<1x2x16xf32>)
    ```
  }];
}
def Kiln_GruOp : Kiln_RecurrentOp<"gru", (ins Optional<Kiln_StateTensor>:$hidden_bias),
                                  (ins BoolAttr:$linear_before_reset), (outs)> {
  let summary = "Gated recurrent unit over time.";
  let description = [{
    As kiln.rnn with three gates z, r, h and two activations f, g:
    z = f(xz + h * Rz), r = f(xr + h * Rr),
    n = g(xh + (r . h) * Rh), or with `linear_before_reset`
    n = g(xh + r . (h * Rh + hidden_bias)), and h = (1 - z) . n + z . h.
    `hidden_bias` is [directions, hidden]; without linear_before_reset it is
    part of x.

    (C1), (C2), (C3) as kiln.rnn.
  }];
}
def Kiln_LstmOp : Kiln_RecurrentOp<"lstm", (ins Optional<Kiln_StateTensor>:$initial_c,
                                                Optional<Kiln_StateTensor>:$peephole),
                                   (ins BoolAttr:$input_forget), (outs Kiln_StateTensor:$y_c)> {
  let summary = "Long short-term memory over time.";
  let description = [{
    As kiln.rnn with four gates i, o, f, c, three activations f, g, h and a cell
    state: i = f(xi + h * Ri + Pi . c), f = f(xf + h * Rf + Pf . c) or with
    `input_forget` 1 - i, c = f . c + i . g(xc + h * Rc),
    o = f(xo + h * Ro + Po . c), h = o . h(c). `peephole` is
    [directions, 3 * hidden] for i, o, f; y_c is the last cell state.

    (C1), (C2), (C3) as kiln.rnn.
  }];
}
