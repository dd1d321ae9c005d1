// A program with nothing to find: every result checked, every size guarded.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                               \
  do {                                                                                            \
    cudaError_t status = (call);                                                                  \
    if (status != cudaSuccess) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));        \
      std::exit(1);                                                                               \
    }                                                                                             \
  } while (0)

__global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <int THREADS>
__global__ void largest(const float* __restrict__ x, float* __restrict__ out, int n) {
  __shared__ float s[THREADS];
  float top = -INFINITY;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) top = fmaxf(top, x[i]);
  s[threadIdx.x] = top;
  __syncthreads();
  for (int d = THREADS / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + d]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

int main() {
  const int n = 10007;
  const size_t bytes = n * sizeof(float);
  std::vector<float> host(n, 1.0f);
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMalloc(&c, bytes));
  CHECK(cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, host.data(), bytes, cudaMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(a, b, c, n);
  CHECK(cudaGetLastError());
  largest<128><<<32, 128>>>(c, a, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host.data(), a, 32 * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  std::printf("%f\n", host[0]);
  return 0;
}
