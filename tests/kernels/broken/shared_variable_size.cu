__global__ void scale(float* x, int n) {
  __shared__ float tile[n];  // expect nvcc-not-constant
  x[0] = tile[threadIdx.x];
}
