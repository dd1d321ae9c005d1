// builds
__global__ void scale(float* x) {
  x[0] == 1;  // expect nvcc-174
  x[1] = 2;
}
