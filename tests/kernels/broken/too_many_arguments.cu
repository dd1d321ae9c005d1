__device__ float twice(float a) { return a + a; }
__global__ void scale(float* x) {
  x[0] = twice(x[1], x[2]);  // expect nvcc-argument-count
}
