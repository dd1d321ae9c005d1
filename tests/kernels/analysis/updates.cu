// Several threads, one element.

__global__ void __launch_bounds__(256) counted_plainly(const int* __restrict__ keys, int* __restrict__ total, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) *total += keys[i];  // expect: missing-atomic source; global-race proof
}

__global__ void __launch_bounds__(256) counted(const int* __restrict__ keys, int* __restrict__ total, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(total, keys[i]);
}

__global__ void __launch_bounds__(256) histogram_plainly(const int* __restrict__ keys, int* __restrict__ bins, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) bins[keys[i]]++;  // expect: missing-atomic source
}

__global__ void __launch_bounds__(256) own_element(float* __restrict__ y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] += 1.0f;
}

__global__ void __launch_bounds__(256) blocks_share_a_sum(const float* __restrict__ x, float* __restrict__ sum) {
  if (threadIdx.x == 0) *sum += x[blockIdx.x];  // expect: missing-atomic source; global-race proof
}

__global__ void __launch_bounds__(256) halves_share(int* __restrict__ y) {
  y[threadIdx.x / 2] = threadIdx.x;  // expect: write-conflict source; global-race proof
}

__global__ void __launch_bounds__(64) blocks_overwrite(int* __restrict__ y) {
  y[threadIdx.x] = blockIdx.x;  // expect: write-conflict source; global-race proof
}

__global__ void __launch_bounds__(256) same_value(int* __restrict__ flag, const int* __restrict__ x) {
  if (x[blockIdx.x] > 0) *flag = 1;
}

__global__ void __launch_bounds__(64) never_set(float* __restrict__ y) {
  __shared__ float s[64];
  y[threadIdx.x] = s[threadIdx.x];  // expect: uninitialized-shared source
}

__global__ void __launch_bounds__(256) never_cleared(const int* __restrict__ keys, int* __restrict__ out, int n) {
  __shared__ int bins[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(&bins[keys[i] & 255], 1);  // expect: uninitialized-shared source
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
