// What only the machine code shows.

__global__ void __launch_bounds__(1024) spills(float* __restrict__ x, int which) {
  float r[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) r[i] = x[threadIdx.x + i * 1024];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
#pragma unroll
    for (int i = 0; i < 96; ++i) r[i] = r[i] * r[(i * 7 + 1) % 96] + 1.0f;  // expect: register-spill sass
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 96; ++i) sum += r[i];
  x[threadIdx.x] = sum + which;
}

__global__ void __launch_bounds__(64) indexed_at_run_time(const int* __restrict__ x, int* __restrict__ y, int n) {
  int held[64] = {};
  for (int i = 0; i < n; ++i) held[x[i * 64 + threadIdx.x] & 63] += 1;  // expect: local-memory sass
  for (int i = 0; i < 64; ++i) y[i * 64 + threadIdx.x] = held[i];
}

__global__ void __launch_bounds__(64) indexed_by_constants(const float* __restrict__ x, float* __restrict__ y) {
  float held[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) held[i] = x[i * 64 + threadIdx.x];
  y[threadIdx.x] = held[0] + held[3];
}

__global__ void __launch_bounds__(256) four_words_one_by_one(const float* __restrict__ x, float* __restrict__ y) {
  int i = (blockIdx.x * 256 + threadIdx.x) * 4;
  y[i] = x[i] + 1.0f;  // expect: uncoalesced source ptx
  y[i + 1] = x[i + 1] + 1.0f;
  y[i + 2] = x[i + 2] + 1.0f;
  y[i + 3] = x[i + 3] + 1.0f;
}
