extern __device__ float elsewhere(float);
__global__ void scale(float* x) {
  x[0] = elsewhere(x[1]);  // expect ptxas-unresolved-extern
}
