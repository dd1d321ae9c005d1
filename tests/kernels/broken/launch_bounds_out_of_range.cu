// builds
__global__ void __launch_bounds__(1024, 8) scale(float* x) {  // expect ptxas-launch-bounds
  x[threadIdx.x] = 1;
}
