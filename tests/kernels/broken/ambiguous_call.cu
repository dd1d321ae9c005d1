__device__ float pick(float a) { return a; }
__device__ float pick(double a) { return a; }
__global__ void scale(float* x) {
  x[0] = pick(7);  // expect nvcc-ambiguous
}
