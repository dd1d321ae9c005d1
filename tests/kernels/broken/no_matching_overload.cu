__device__ float pick(float* a) { return *a; }
__device__ float pick(int* a) { return *a; }
__global__ void scale(float* x) {
  x[0] = pick(x[1]);  // expect nvcc-no-overload
}
