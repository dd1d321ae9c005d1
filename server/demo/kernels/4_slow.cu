// C = A B, one thread for each element of C, guarded: right, and slow.
__global__ void gemm(const float* A, const float* B, float* C, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + col];
  C[row * n + col] = sum;
}

void launch(const float* A, const float* B, float* C, int n) {
  dim3 block(32, 32), grid((n + 31) / 32, (n + 31) / 32);
  gemm<<<grid, block>>>(A, B, C, n);
}

#include "main.cuh"
