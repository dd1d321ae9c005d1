// builds
__global__ void scale(float* x) {
  int unused = 3;  // expect nvcc-177
  x[0] = 1;
}
