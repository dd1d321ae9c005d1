// builds
__global__ void scale(float* x) {
#pragma unrol 4  // expect nvcc-161
  for (int i = 0; i < 8; ++i) x[i] = 1;
}
