// What host code does with errors.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float* __restrict__ x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 1.0f;
}

void checked(float* x) {
  fill<<<4, 256>>>(x, 1024);
  if (cudaGetLastError() != cudaSuccess) printf("failed\n");
}

void checked_at_the_end(float* x) {
  fill<<<4, 256>>>(x, 1024);
  cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) printf("failed\n");
}

void unchecked(float* x) {
  fill<<<4, 256>>>(x, 1024);  // expect: unchecked-launch source
  cudaDeviceSynchronize();
}

void too_large(float* x) {
  fill<<<1, 2048>>>(x, 1024);  // expect: invalid-launch source
  if (cudaPeekAtLastError() != cudaSuccess) printf("failed\n");
}

int main() {
  float* x;
  cudaMalloc(&x, 4096);  // expect: unchecked-call source
  checked(x);
  checked_at_the_end(x);
  unchecked(x);
  too_large(x);
  cudaFree(x);
  return 0;
}
