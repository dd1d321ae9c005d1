// Multiplies two N x N matrices with gemm() and checks 64 elements against the CPU.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#ifndef N
#define N 500
#endif

#define CHECK(call)                                                                  \
  do {                                                                               \
    cudaError_t status = (call);                                                     \
    if (status != cudaSuccess) {                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

int main() {
  const size_t bytes = size_t(N) * N * sizeof(float);
  std::vector<float> a(N * N), b(N * N), c(N * N);
  for (int i = 0; i < N * N; ++i) {
    a[i] = float((i * 7 + 3) % 13) / 13.0f - 0.5f;
    b[i] = float((i * 5 + 1) % 11) / 11.0f - 0.5f;
  }
  float *A, *B, *C;
  CHECK(cudaMalloc(&A, bytes));
  CHECK(cudaMalloc(&B, bytes));
  CHECK(cudaMalloc(&C, bytes));
  CHECK(cudaMemcpy(A, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(B, b.data(), bytes, cudaMemcpyHostToDevice));
  launch(A, B, C, N);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(c.data(), C, bytes, cudaMemcpyDeviceToHost));
  double worst = 0;
  for (int k = 0; k < 64; ++k) {
    const int row = (k * 977) % N, col = (k * 613) % N;
    double want = 0;
    for (int i = 0; i < N; ++i) want += double(a[row * N + i]) * b[i * N + col];
    worst = fmax(worst, fabs(want - c[row * N + col]));
  }
  CHECK(cudaFree(A));
  CHECK(cudaFree(B));
  CHECK(cudaFree(C));
  printf("worst error %.2e: %s\n", worst, worst < 1e-3 ? "right" : "WRONG");
  return worst < 1e-3 ? 0 : 1;
}
