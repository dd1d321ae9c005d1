__global__ void scale(float* x) {
  x[threadIdx.w] = 0;  // expect nvcc-no-member
}
