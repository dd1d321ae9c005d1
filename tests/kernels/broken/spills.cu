// builds
__global__ void __launch_bounds__(1024) scale(float* x, int k) {  // expect ptxas-spills
  float r[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) r[i] = x[threadIdx.x + i * 1024];
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 96; ++i) r[i] = r[i] * r[(i * 7 + 1) % 96] + 1.0f;
  float s = r[k % 96];
#pragma unroll
  for (int i = 0; i < 96; ++i) s += r[i];
  x[threadIdx.x] = s;
}
