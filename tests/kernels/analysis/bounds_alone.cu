// The same without a launch in sight: the form alone must tell.

__global__ void size_never_compared(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];  // expect: unguarded-index source
}

__global__ void one_too_many(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = 2.0f * x[i];  // expect: off-by-one source
}

__global__ void one_too_many_by_return(const float* __restrict__ x, float* __restrict__ y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > count) return;
  y[i] = 2.0f * x[i];  // expect: off-by-one source
}

__global__ void last_is_included(const float* __restrict__ x, float* __restrict__ y, int last) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= last) y[i] = 2.0f * x[i];
}

__global__ void before_the_first(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] - x[i - 1];  // expect: negative-index source
}

__global__ void not_before_the_first(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) y[i] = x[i] - x[i - 1];
}

__global__ void first_is_its_own_neighbour(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] - x[i > 0 ? i - 1 : 0];
}

__global__ void no_size_given(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
}
