// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Reduction that the tests run and nvcc compiles.
#include "Reduction/Reduction.cuh"
using namespace kiln::cuda;

namespace {
struct Square {
  __device__ __forceinline__ float operator()(float v, long, long) const { return v * v; }
};
struct Mean {
  int count;
  __device__ __forceinline__ float operator()(float v, long, long) const {
    return v / static_cast<float>(count);
  }
};
} // namespace

using Warp = RowShape<32, 4, 1, 4>;
using Block = RowShape<256, 1, 1, 1>;

extern "C" __global__ void __launch_bounds__(Warp::threads, 1)
    mean_rows(const float *x, float *y, long rows, int columns) {
  ReduceRows<Warp, float, Sum, Identity<float>, Mean>::run(x, y, rows, columns, columns, {}, {},
                                                           {columns});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    square_rows_parts(const float *x, float *y, long rows, int columns, int part) {
  ReduceRows<Block, float, Sum, Square, Identity<float>>::run(x, y, rows, columns, part, {}, {},
                                                              {});
}
extern "C" __global__ void __launch_bounds__(Warp::threads, 1)
    max_rows(const float *x, float *y, long rows, int columns) {
  ReduceRows<Warp, float, Max, Identity<float>, Identity<float>>::run(x, y, rows, columns, columns,
                                                                      {}, {}, {});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    sum_rows_i64(const int64_t *x, int64_t *y, long rows, int columns) {
  ReduceRows<Block, int64_t, Sum, Identity<int64_t>, Identity<int64_t>>::run(x, y, rows, columns,
                                                                             columns, {}, {}, {});
}
extern "C" __global__ void __launch_bounds__(128, 1)
    sum_columns(const float *x, float *y, int length, long columns) {
  ReduceColumns<4, float, Sum, Identity<float>, Identity<float>>::run(x, y, length, columns, {}, {},
                                                                      {});
}
extern "C" __global__ void __launch_bounds__(128, 1)
    argmax_rows(const float *x, int64_t *y, long rows, int length) {
  ArgReduce<false, false, Identity<float>>::rows(x, y, rows, length, {});
}
extern "C" __global__ void __launch_bounds__(128, 1)
    argmin_last_rows(const float *x, int64_t *y, long rows, int length) {
  ArgReduce<true, true, Identity<float>>::rows(x, y, rows, length, {});
}
extern "C" __global__ void __launch_bounds__(128, 1)
    argmax_columns(const float *x, int64_t *y, long outers, int length, long columns) {
  ArgReduce<false, false, Identity<float>>::columns(x, y, outers, length, columns, {});
}
