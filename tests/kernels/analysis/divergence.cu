// Barriers and warp operations that not all of their threads reach.

__global__ void __launch_bounds__(64) barrier_in_branch(float* __restrict__ x) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  if (t < 40) __syncthreads();  // expect: divergent-barrier source ptx proof
  x[t] = s[t];
}

__global__ void __launch_bounds__(64) barrier_in_else(float* __restrict__ x) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  if (t % 2 == 0) {
    s[t] += 1.0f;
  } else {
    __syncthreads();  // expect: divergent-barrier source ptx proof
  }
  x[t] = s[t];
}

__global__ void __launch_bounds__(64) barrier_by_data(float* __restrict__ x) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  if (x[t] > 0.5f) __syncthreads();  // expect: divergent-barrier source ptx
  x[t] = s[t];
}

__global__ void __launch_bounds__(64) barrier_after_return(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  s[threadIdx.x] = x[i];
  __syncthreads();  // expect: divergent-barrier source ptx
  y[i] = s[threadIdx.x ^ 1];
}

__global__ void __launch_bounds__(64) barrier_in_uneven_loop(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float s[64];
  for (int i = threadIdx.x; i < n; i += 64) {
    s[threadIdx.x] = x[i];
    __syncthreads();  // expect: divergent-barrier source ptx
    y[i] = s[threadIdx.x ^ 1];
    __syncthreads();  // expect: divergent-barrier source ptx
  }
}

__global__ void __launch_bounds__(64) barrier_in_even_loop(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[64];
  for (int i = threadIdx.x; i < 256; i += 64) {
    s[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = s[threadIdx.x ^ 1];
    __syncthreads();
  }
}

__global__ void __launch_bounds__(64) barrier_under_block_condition(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  if (blockIdx.x < 4) {
    __syncthreads();
    y[blockIdx.x * 64 + t] = s[63 - t];
  }
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    s[t] = x[k * 64 + t];
    __syncthreads();
    y[k * 64 + t] = s[t ^ 1];
  }
}

__global__ void __launch_bounds__(64) full_mask_in_half_a_warp(int* __restrict__ x) {
  int t = threadIdx.x;
  if (t < 16) __syncwarp(0xffffffff);  // expect: divergent-warp-sync source ptx
  x[t] = t;
}

__global__ void __launch_bounds__(64) shuffle_in_a_branch(int* __restrict__ x) {
  int t = threadIdx.x, v = x[t];
  if (t % 4 == 0) v += __shfl_down_sync(0xffffffff, v, 4);  // expect: divergent-warp-sync source ptx
  x[t] = v;
}

__global__ void __launch_bounds__(64) shuffle_by_data(int* __restrict__ x) {
  int t = threadIdx.x, v = x[t];
  if (v > 3) v += __shfl_xor_sync(0xffffffff, v, 1);  // expect: divergent-warp-sync source ptx
  x[t] = v;
}

__global__ void __launch_bounds__(64) matching_mask(int* __restrict__ x) {
  int t = threadIdx.x, v = x[t];
  if (t % 32 < 16) v += __shfl_down_sync(0x0000ffff, v, 8);
  x[t] = v;
}

__global__ void __launch_bounds__(64) whole_warps(int* __restrict__ x) {
  int t = threadIdx.x, v = x[t];
  if (t / 32 == 1) v += __shfl_down_sync(0xffffffff, v, 8);
  if (t < 32) __syncwarp();
  x[t] = v;
}

__global__ void __launch_bounds__(64) mask_made_before(int* __restrict__ x) {
  int t = threadIdx.x, v = x[t];
  unsigned here = __ballot_sync(0xffffffff, v > 3);
  if (v > 3) v += __shfl_sync(here, v, __ffs(here) - 1);
  x[t] = v;
}

__global__ void __launch_bounds__(64) warp_leaves_whole(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 32) return;
  float v = s[threadIdx.x] + s[threadIdx.x + 32];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  if (threadIdx.x == 0) y[blockIdx.x] = v;
}
