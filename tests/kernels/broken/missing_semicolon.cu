__global__ void scale(float* x) {
  int i = threadIdx.x
  x[i] *= 2.0f;  // expect nvcc-expected-semicolon
}
