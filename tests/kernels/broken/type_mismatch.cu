__global__ void scale(float* x) {
  int* p = x;  // expect nvcc-incompatible-types
  p[0] = 1;
}
