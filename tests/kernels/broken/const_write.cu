__global__ void scale(const float* x) {
  x[threadIdx.x] = 0;  // expect nvcc-not-modifiable
}
