__global__ void first(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x
  if (i < n) {  // expect nvcc-expected-semicolon
    x[i] = undefined_one;
  }
}
__global__ void second(float* x) { x[0] = undefined_two; }
