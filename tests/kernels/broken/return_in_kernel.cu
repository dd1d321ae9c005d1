__global__ int scale(float* x) {  // expect nvcc-kernel-return-type
  return x[0];
}
