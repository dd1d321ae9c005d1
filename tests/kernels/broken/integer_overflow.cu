// builds
__global__ void scale(float* x) {
  x[0] = 65536 * 65536;  // expect nvcc-61
}
