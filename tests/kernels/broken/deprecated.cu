// builds
[[deprecated("use scale2")]] __device__ float old_scale(float a) { return 2 * a; }
__global__ void scale(float* x) {
  x[0] = old_scale(x[1]);  // expect nvcc-1444
}
