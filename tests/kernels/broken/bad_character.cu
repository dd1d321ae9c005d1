__global__ void scale(float* x) {
  x[0] = 1 @ 2;  // expect nvcc-unrecognized-token
}
