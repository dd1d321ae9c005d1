// Indices outside their array: proved from the launch, given away by the form, or bounded by nothing.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                      \
  do {                                                                   \
    cudaError_t status = (call);                                         \
    if (status != cudaSuccess) {                                         \
      fprintf(stderr, "%s\n", cudaGetErrorString(status));               \
      return 1;                                                          \
    }                                                                    \
  } while (0)

__device__ void store(float* memory, int i, float value) { memory[i] = value; }

__global__ void scale_unguarded(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  store(y, i, 2.0f * x[i]);  // expect: unguarded-index source
}

__global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) store(y, i, 2.0f * x[i]);
}

__global__ void scale_after_return(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = 2.0f * x[i];
}

__global__ void one_too_many(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = 2.0f * x[i];  // expect: out-of-bounds source
}

__global__ void exact_grid(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] + n;
}

__global__ void wrong_block(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];  // expect: shared-out-of-bounds source
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];  // expect: shared-out-of-bounds source
}

__global__ void large_matrix(const float* __restrict__ a, float* __restrict__ b, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < n) b[row * n + column] = a[row * n + column];  // expect: index-overflow source
}

__global__ void large_matrix_in_64_bits(const float* __restrict__ a, float* __restrict__ b, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < n) b[size_t(row) * n + column] = a[size_t(row) * n + column];
}

int main() {
  const int n = 1000, side = 50000;
  float *x, *y, *large, *other;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  CHECK(cudaMalloc(&large, size_t(side) * side * sizeof(float)));
  CHECK(cudaMalloc(&other, size_t(side) * side * sizeof(float)));
  scale_unguarded<<<(n + 255) / 256, 256>>>(x, y, n);
  scale<<<(n + 255) / 256, 256>>>(x, y, n);
  scale_after_return<<<(n + 255) / 256, 256>>>(x, y, n);
  one_too_many<<<(n + 255) / 256, 256>>>(x, y, n);
  exact_grid<<<n / 250, 250>>>(x, y, n);
  wrong_block<<<1, 256>>>(x, y);
  large_matrix<<<dim3((side + 31) / 32, (side + 7) / 8), dim3(32, 8)>>>(large, other, side);
  large_matrix_in_64_bits<<<dim3((side + 31) / 32, (side + 7) / 8), dim3(32, 8)>>>(large, other, side);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  CHECK(cudaFree(large));
  CHECK(cudaFree(other));
  return 0;
}
