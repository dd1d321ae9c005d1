__global__ void scale(float* x) {
  __shared__ float tile[4] = {1, 2, 3, 4};  // expect nvcc-shared-initializer
  x[0] = tile[threadIdx.x];
}
