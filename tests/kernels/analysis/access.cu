// How a warp's accesses spread over sectors and banks.

__global__ void __launch_bounds__(1024) row_per_thread(const float* __restrict__ a, float* __restrict__ c, int n) {
  int row = blockIdx.x * 32 + threadIdx.x, column = blockIdx.y * 32 + threadIdx.y;
  if (row < n && column < n) c[row * n + column] = 2.0f * a[row * n + column];  // expect: uncoalesced source ptx
}

__global__ void __launch_bounds__(1024) column_per_thread(const float* __restrict__ a, float* __restrict__ c, int n) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  if (row < n && column < n) c[row * n + column] = 2.0f * a[row * n + column];
}

__global__ void __launch_bounds__(256) strided(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i * 16];  // expect: uncoalesced source ptx
}

__global__ void __launch_bounds__(256) grid_stride(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];
}

__global__ void __launch_bounds__(256) chunk_per_thread(const float* __restrict__ x, float* __restrict__ y, int n) {
  int first = (blockIdx.x * 256 + threadIdx.x) * 64;
  for (int k = 0; k < 64; ++k)
    if (first + k < n) y[first + k] = x[first + k] + 1.0f;  // expect: uncoalesced source ptx
}

__global__ void __launch_bounds__(256) gathered(const int* __restrict__ at, const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[at[i]];
}

__global__ void __launch_bounds__(256) one_address(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[blockIdx.x] + x[7];
}

__global__ void __launch_bounds__(256) wide(const float4* __restrict__ x, float4* __restrict__ y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
}

__global__ void __launch_bounds__(32) shifted_wide(const float* __restrict__ x, float4* __restrict__ y) {
  int t = threadIdx.x;
  y[t] = *reinterpret_cast<const float4*>(x + 1 + 4 * t);  // expect: misaligned-access source ptx
}

__global__ void __launch_bounds__(1024) column_of_shared(const float* __restrict__ a, float* __restrict__ b, int n) {
  __shared__ float s[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < n && y < n) s[threadIdx.y][threadIdx.x] = a[y * n + x];
  __syncthreads();
  int tx = blockIdx.y * 32 + threadIdx.x, ty = blockIdx.x * 32 + threadIdx.y;
  if (tx < n && ty < n) b[ty * n + tx] = s[threadIdx.x][threadIdx.y];  // expect: bank-conflict source ptx
}

__global__ void __launch_bounds__(1024) padded(const float* __restrict__ a, float* __restrict__ b, int n) {
  __shared__ float s[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < n && y < n) s[threadIdx.y][threadIdx.x] = a[y * n + x];
  __syncthreads();
  int tx = blockIdx.y * 32 + threadIdx.x, ty = blockIdx.x * 32 + threadIdx.y;
  if (tx < n && ty < n) b[ty * n + tx] = s[threadIdx.x][threadIdx.y];
}

__global__ void __launch_bounds__(1024) swizzled(const float* __restrict__ a, float* __restrict__ b, int n) {
  __shared__ float s[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < n && y < n) s[threadIdx.y][threadIdx.x ^ threadIdx.y] = a[y * n + x];
  __syncthreads();
  int tx = blockIdx.y * 32 + threadIdx.x, ty = blockIdx.x * 32 + threadIdx.y;
  if (tx < n && ty < n) b[ty * n + tx] = s[threadIdx.x][threadIdx.y ^ threadIdx.x];
}

__global__ void __launch_bounds__(256) interleaved_reduction(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (int d = 1; d < 256; d *= 2) {
    int at = 2 * d * t;
    if (at + d < 256) s[at] += s[at + d];  // expect: bank-conflict source ptx
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void __launch_bounds__(128) doubles_in_shared(const double* __restrict__ x, double* __restrict__ y) {
  __shared__ double s[128];
  s[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}
