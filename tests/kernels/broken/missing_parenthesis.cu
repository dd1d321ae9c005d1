__global__ void scale(float* x, int n) {
  if (threadIdx.x < n x[threadIdx.x] = 0;  // expect nvcc-expected-parenthesis
}
