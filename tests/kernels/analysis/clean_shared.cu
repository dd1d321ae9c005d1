// Kernels with nothing to find: threads that work together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <mma.h>

namespace cg = cooperative_groups;

constexpr int TILE = 32;
constexpr int ROWS = 8;
constexpr int RADIUS = 4;

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}

template <int THREADS>
__device__ float block_sum(float v) {
  __shared__ float partial[THREADS / 32];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32) v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x == 0) partial[0] = v;
  __syncthreads();
  float total = partial[0];
  __syncthreads();
  return total;
}

__global__ void __launch_bounds__(256) sum(const float* __restrict__ x, float* __restrict__ out, int n) {
  float v = 0.0f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) v += x[i];
  v = block_sum<256>(v);
  if (threadIdx.x == 0) atomicAdd(out, v);
}

__global__ void __launch_bounds__(256) layer_norm(const float* __restrict__ x, float* __restrict__ y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float total = 0.0f, squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 256) {
    float v = row[i];
    total += v;
    squares += v * v;
  }
  float mean = block_sum<256>(total) / columns;
  float scale = rsqrtf(block_sum<256>(squares) / columns - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += 256) y[blockIdx.x * columns + i] = (row[i] - mean) * scale;
}

__global__ void __launch_bounds__(256) softmax(const float* __restrict__ x, float* __restrict__ y, int columns) {
  __shared__ float largest[8];
  const float* row = x + blockIdx.x * columns;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, row[i]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, d));
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = top;
  __syncthreads();
  top = largest[0];
  for (int w = 1; w < 8; ++w) top = fmaxf(top, largest[w]);
  float total = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 256) total += expf(row[i] - top);
  total = block_sum<256>(total);
  for (int i = threadIdx.x; i < columns; i += 256) y[blockIdx.x * columns + i] = expf(row[i] - top) / total;
}

__global__ void __launch_bounds__(TILE * ROWS) transpose(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void __launch_bounds__(TILE * TILE) gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float total = 0.0f;
  for (int t = 0; t < k; t += TILE) {
    ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && column < n ? b[(t + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) total += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = total;
}

__global__ void __launch_bounds__(256) convolution(const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ y, int n) {
  __shared__ float s[256 + 2 * RADIUS];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x + RADIUS] = i < n ? x[i] : 0.0f;
  if (threadIdx.x < RADIUS) {
    s[threadIdx.x] = i >= RADIUS && i - RADIUS < n ? x[i - RADIUS] : 0.0f;
    s[threadIdx.x + 256 + RADIUS] = i + 256 < n ? x[i + 256] : 0.0f;
  }
  __syncthreads();
  if (i >= n) return;
  float total = 0.0f;
  for (int k = 0; k <= 2 * RADIUS; ++k) total += weights[k] * s[threadIdx.x + k];
  y[i] = total;
}

__global__ void __launch_bounds__(256) histogram(const unsigned char* __restrict__ x, int* __restrict__ bins, int n) {
  __shared__ int local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&local[x[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void __launch_bounds__(512) bitonic_sort(int* __restrict__ keys) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  s[t] = keys[blockIdx.x * 1024 + t];
  s[t + 512] = keys[blockIdx.x * 1024 + t + 512];
  for (int size = 2; size <= 1024; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int low = 2 * t - (t & (stride - 1)), high = low + stride;
      bool up = (low & size) == 0;
      int a = s[low], b = s[high];  // expect: bank-conflict source ptx
      if ((a > b) == up) {
        s[low] = b;
        s[high] = a;
      }
    }
  }
  __syncthreads();
  keys[blockIdx.x * 1024 + t] = s[t];
  keys[blockIdx.x * 1024 + t + 512] = s[t + 512];
}

__global__ void __launch_bounds__(256) n_body(const float4* __restrict__ bodies, float4* __restrict__ forces, int n) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 self = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float4 force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int start = 0; start < n; start += 256) {
    tile[threadIdx.x] = start + threadIdx.x < n ? bodies[start + threadIdx.x] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
    for (int k = 0; k < 256; ++k) {
      float dx = tile[k].x - self.x, dy = tile[k].y - self.y, dz = tile[k].z - self.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
      float s = tile[k].w * inverse * inverse * inverse;
      force.x += dx * s;
      force.y += dy * s;
      force.z += dz * s;
    }
    __syncthreads();
  }
  if (i < n) forces[i] = force;
}

__global__ void __launch_bounds__(256) csr_row_per_warp(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int rows) {
  int row = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float total = 0.0f;
  for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) total += values[k] * x[columns[k]];
  total = warp_sum(total);
  if (lane == 0) y[row] = total;
}

__global__ void __launch_bounds__(256) cooperative_sum(const float* __restrict__ x, float* __restrict__ out, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  __shared__ float partial[8];
  float v = 0.0f;
  for (int i = blockIdx.x * 256 + block.thread_rank(); i < n; i += gridDim.x * 256) v += x[i];
  v = cg::reduce(warp, v, cg::plus<float>());
  if (warp.thread_rank() == 0) partial[block.thread_rank() / 32] = v;
  block.sync();
  if (block.thread_rank() == 0) {
    for (int w = 1; w < 8; ++w) v += partial[w];
    atomicAdd(out, v);
  }
}

__global__ void __launch_bounds__(32) tensor_tile(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int k) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.0f);
  for (int t = 0; t < k; t += 16) {
    load_matrix_sync(fa, a + t, k);
    load_matrix_sync(fb, b + t, k);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c, fc, 16, mem_row_major);
}

__global__ void __launch_bounds__(1024) block_scan(const int* __restrict__ x, int* __restrict__ y) {
  __shared__ int totals[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int v = x[blockIdx.x * 1024 + threadIdx.x];
  for (int d = 1; d < 32; d *= 2) {
    int below = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += below;
  }
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = totals[lane];
    for (int d = 1; d < 32; d *= 2) {
      int below = __shfl_up_sync(0xffffffff, t, d);
      if (lane >= d) t += below;
    }
    totals[lane] = t;
  }
  __syncthreads();
  if (warp > 0) v += totals[warp - 1];
  y[blockIdx.x * 1024 + threadIdx.x] = v;
}
