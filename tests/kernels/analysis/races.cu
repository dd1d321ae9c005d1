// Shared memory between threads: what needs a barrier and what does not.
// A line that must be found carries the topic and the layers that see it; every other line must stay silent.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define TILE 16
#define SYNC() __syncthreads()
#define AT(row, column) flat[(row) * TILE + (column)]

__global__ void __launch_bounds__(256) reduction_without_barrier(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];  // expect: missing-barrier source ptx proof
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void __launch_bounds__(256) reduction(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void __launch_bounds__(256) gemm_without_second_barrier(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int t = 0; t < n; t += TILE) {
    ta[ty][tx] = a[row * n + t + tx];  // expect: unguarded-index source
    tb[ty][tx] = b[(t + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += ta[ty][k] * tb[k][tx];  // expect: missing-barrier source ptx proof
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

__global__ void __launch_bounds__(256) gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int t = 0; t < n; t += TILE) {
    ta[ty][tx] = row < n && t + tx < n ? a[row * n + t + tx] : 0.0f;
    tb[ty][tx] = t + ty < n && column < n ? b[(t + ty) * n + column] : 0.0f;
    SYNC();
    for (int k = 0; k < TILE; ++k) sum += ta[ty][k] * tb[k][tx];
    SYNC();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

__global__ void __launch_bounds__(256) broadcast_without_barrier(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float scale;
  if (threadIdx.x == 0) scale = x[blockIdx.x];
  y[blockIdx.x * 256 + threadIdx.x] = x[threadIdx.x] * scale;  // expect: missing-barrier source ptx proof
}

__global__ void __launch_bounds__(256) broadcast(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float scale;
  if (threadIdx.x == 0) scale = x[blockIdx.x];
  __syncthreads();
  y[blockIdx.x * 256 + threadIdx.x] = x[threadIdx.x] * scale;
}

__global__ void __launch_bounds__(256) neighbour_without_barrier(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  y[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];  // expect: missing-barrier source ptx proof
}

__global__ void __launch_bounds__(256) own_slot(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  y[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x] * 2.0f;
}

__global__ void __launch_bounds__(256) reused_before_read(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[8];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) s[warp] = x[blockIdx.x * 8 + warp];
  __syncthreads();
  float first = s[0];
  if (lane == 0) s[warp] = first + x[warp];  // expect: missing-barrier source ptx proof
  __syncthreads();
  y[blockIdx.x * 256 + threadIdx.x] = s[0];
}

__global__ void __launch_bounds__(256) reused_after_barrier(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[8];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) s[warp] = x[blockIdx.x * 8 + warp];
  __syncthreads();
  float first = s[0];
  __syncthreads();
  if (lane == 0) s[warp] = first + x[warp];
  __syncthreads();
  y[blockIdx.x * 256 + threadIdx.x] = s[0];
}

__device__ void put(float* memory, int index, float value) { memory[index] = value; }

__device__ float sum_all(float* memory, int t) {
  for (int d = 128; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) memory[t] += memory[t + d];
  }
  __syncthreads();
  return memory[0];
}

__global__ void __launch_bounds__(256) through_functions(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  put(s, threadIdx.x, x[blockIdx.x * 256 + threadIdx.x]);
  float total = sum_all(s, threadIdx.x);
  y[blockIdx.x * 256 + threadIdx.x] = total;
}

__global__ void __launch_bounds__(256) through_a_function_without_barrier(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  put(s, threadIdx.x, x[blockIdx.x * 256 + threadIdx.x]);
  y[blockIdx.x * 256 + threadIdx.x] = s[(threadIdx.x + 1) % 256];  // expect: missing-barrier source ptx proof
}

__global__ void __launch_bounds__(256) two_buffers(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[2][256];
  int t = threadIdx.x, from = 0;
  s[0][t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    float v = s[from][t];
    if (t >= d) v += s[from][t - d];
    s[1 - from][t] = v;
    from = 1 - from;
    __syncthreads();
  }
  y[blockIdx.x * 256 + t] = s[from][t];
}

__global__ void __launch_bounds__(256) one_buffer_scan(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    float v = t >= d ? s[t - d] : 0.0f;
    s[t] += v;  // expect: missing-barrier source ptx proof
    __syncthreads();
  }
  y[blockIdx.x * 256 + t] = s[t];
}

__global__ void __launch_bounds__(256) flat_transpose(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float flat[TILE * TILE];
  AT(threadIdx.y, threadIdx.x) = x[threadIdx.y * TILE + threadIdx.x];
  cg::this_thread_block().sync();
  y[threadIdx.y * TILE + threadIdx.x] = AT(threadIdx.x, threadIdx.y);  // expect: bank-conflict source ptx
}

__global__ void __launch_bounds__(256) flat_transpose_without_barrier(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float flat[TILE * TILE];
  AT(threadIdx.y, threadIdx.x) = x[threadIdx.y * TILE + threadIdx.x];
  y[threadIdx.y * TILE + threadIdx.x] = AT(threadIdx.x, threadIdx.y);  // expect: missing-barrier source ptx proof; bank-conflict source ptx
}

__global__ void __launch_bounds__(256) warp_shuffle(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[8];
  float v = x[blockIdx.x * 256 + threadIdx.x];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < 8 ? s[threadIdx.x] : 0.0f;
    for (int d = 4; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if (threadIdx.x == 0) y[blockIdx.x] = v;
  }
}

__global__ void __launch_bounds__(256) cleared_without_barrier(const int* __restrict__ keys, int* __restrict__ counts, int n) {
  __shared__ int bins[64];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  if (i < n) atomicAdd(&bins[i % 64], keys[i]);  // expect: missing-barrier source ptx
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

__global__ void __launch_bounds__(256) cleared(const int* __restrict__ keys, int* __restrict__ counts, int n) {
  __shared__ int bins[64];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  if (i < n) atomicAdd(&bins[i % 64], keys[i]);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

__global__ void __launch_bounds__(256) scattered_by_data(const int* __restrict__ to, const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[256];
  s[to[threadIdx.x]] = x[threadIdx.x];
  y[threadIdx.x] = s[threadIdx.x];  // beyond: missing-barrier (which thread wrote it is in the data)
}
