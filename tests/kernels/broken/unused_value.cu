// builds
__global__ void scale(float* x) {
  int i;
  x[i] = 1;  // expect nvcc-549
}
