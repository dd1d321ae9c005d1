__global__ void scale(float* x) {
  int i = threadIdx.x;
  int i = blockIdx.x;  // expect nvcc-redefinition
  x[i] = 0;
}
