// C = A B by 32 x 32 tiles through shared memory.
__global__ void gemm(const float* A, const float* B, float* C, int n) {
  __shared__ float a[32][32], b[32][32];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  float sum = 0.0f;
  for (int t = 0; t < n; t += 32) {
    a[ty][tx] = row < n && t + tx < n ? A[row * n + t + tx] : 0.0f;
    b[ty][tx] = t + ty < n && col < n ? B[(t + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += a[ty][k] * b[k][tx];
  }
  if (row < n && col < n) C[row * n + col] = sum;
}

void launch(const float* A, const float* B, float* C, int n) {
  dim3 block(32, 32), grid((n + 31) / 32, (n + 31) / 32);
  gemm<<<grid, block>>>(A, B, C, n);
}

#include "main.cuh"
