// Idioms that worked once, or never.

__global__ void __launch_bounds__(256) warp_synchronous(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  if (t < 128) s[t] += s[t + 128];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];  // expect: warp-synchronous source
    s[t] += s[t + 8];  // expect: warp-synchronous ptx; missing-barrier proof
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void __launch_bounds__(256) volatile_warp(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  if (t < 32) {
    volatile float* v = s;
    v[t] += v[t + 32];
    v[t] += v[t + 16];  // expect: volatile-shared source ptx
    v[t] += v[t + 8];  // expect: missing-barrier proof
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void __launch_bounds__(256) synchronised_warp(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  if (t < 32) {
    float v = s[t] + s[t + 32];
    __syncwarp();
    s[t] = v;
    __syncwarp();
    v += t < 16 ? s[t + 16] : 0.0f;
    __syncwarp();
    s[t] = v;
  }
  __syncthreads();
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void waits_for_a_flag(volatile int* flag) {
  while (*flag == 0) {  // expect: spin-wait source
  }
}

__global__ void waits_for_a_plain_flag(int* flag) {
  while (flag[0] == 0) {  // expect: spin-wait source
  }
}

__global__ void walks_a_list(const int* __restrict__ next, int* __restrict__ length) {
  int at = 0, count = 0;
  while (next[at] != 0) {
    at = next[at];
    ++count;
  }
  length[0] = count;
}

__global__ void __launch_bounds__(64) whoever_is_here(int* __restrict__ x) {
  int v = x[threadIdx.x];
  if (v > 3) v = __shfl_sync(__activemask(), v, 0);  // expect: active-mask source
  x[threadIdx.x] = v;
}

__global__ void may_overlap(const float* x, float* y, int n) {  // expect: missing-restrict source
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * x[i];
}
