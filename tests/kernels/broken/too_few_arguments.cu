__device__ float blend(float a, float b) { return a + b; }
__global__ void scale(float* x) {
  x[0] = blend(x[1]);  // expect nvcc-argument-count
}
