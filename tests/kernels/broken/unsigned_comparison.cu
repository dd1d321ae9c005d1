// builds
__global__ void scale(float* x, unsigned n) {
  if (n >= 0) x[0] = 1;  // expect nvcc-186
}
