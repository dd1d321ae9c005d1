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

int main() {
  const int n = 1000;
  float *x, *y;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  scale_unguarded<<<(n + 255) / 256, 256>>>(x, y, n);
  scale<<<(n + 255) / 256, 256>>>(x, y, n);
  scale_after_return<<<(n + 255) / 256, 256>>>(x, y, n);
  one_too_many<<<(n + 255) / 256, 256>>>(x, y, n);
  exact_grid<<<n / 250, 250>>>(x, y, n);
  wrong_block<<<1, 256>>>(x, y);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  return 0;
}
