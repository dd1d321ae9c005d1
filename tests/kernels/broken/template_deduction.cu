template <typename T>
__device__ T blend(T a, T b) { return a + b; }
__global__ void scale(float* x) {
  x[0] = blend(1, 2.0f);  // expect nvcc-no-overload
}
