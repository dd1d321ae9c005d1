// C = A B by 64 x 64 tiles through shared memory, each thread keeping a 4 x 4 block of C in registers.
constexpr int TILE = 64, DEPTH = 16, EACH = 4;

__global__ void __launch_bounds__(256) gemm(const float* __restrict__ A, const float* __restrict__ B, float* C, int n) {
  __shared__ float a[DEPTH][TILE + 4], b[DEPTH][TILE];
  const int thread = threadIdx.x, tx = thread % 16, ty = thread / 16;
  const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  float sum[EACH][EACH] = {};
  for (int t = 0; t < n; t += DEPTH) {
    for (int i = thread; i < TILE * DEPTH; i += 256) {
      const int row = top + i / DEPTH, k = t + i % DEPTH;
      a[i % DEPTH][i / DEPTH] = row < n && k < n ? A[row * n + k] : 0.0f;
      const int col = left + i % TILE, depth = t + i / TILE;
      b[i / TILE][i % TILE] = depth < n && col < n ? B[depth * n + col] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float x[EACH], y[EACH];
#pragma unroll
      for (int i = 0; i < EACH; ++i) x[i] = a[k][ty * EACH + i], y[i] = b[k][tx * EACH + i];
#pragma unroll
      for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j) {
      const int row = top + ty * EACH + i, col = left + tx * EACH + j;
      if (row < n && col < n) C[row * n + col] = sum[i][j];
    }
}

void launch(const float* A, const float* B, float* C, int n) {
  gemm<<<dim3((n + TILE - 1) / TILE, (n + TILE - 1) / TILE), 256>>>(A, B, C, n);
}

#include "main.cuh"
