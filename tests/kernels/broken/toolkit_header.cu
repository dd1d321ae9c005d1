#include <cub/block/block_reduce.cuh>
struct Pair {
  float a, b;
};
__global__ void scale(Pair* x) {
  __shared__ typename cub::BlockReduce<Pair, 128>::TempStorage storage;
  x[0] = cub::BlockReduce<Pair, 128>(storage).Sum(x[1]);  // expect nvcc-no-overload
}
