__global__ void scale(float* x, float* x) {  // expect nvcc-redefinition
  x[0] = 1;
}
