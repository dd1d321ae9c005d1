__device__ float twice(float* v) { return 2.0f * *v; }
__global__ void scale(float* x) {
  x[0] = twice(x[1]);  // expect nvcc-incompatible-types
}
