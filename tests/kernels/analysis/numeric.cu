// Doubles by accident and products that overflow before they are widened.
#define HALF 0.5
#define THIRD 0.333

__global__ void double_factor(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 1.0001;  // expect: double-precision source ptx
}

__global__ void float_factor(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 1.0001f + 1e-3f;
}

__global__ void double_macro(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    v *= THIRD;  // expect: double-precision source ptx
    y[i] = v;
  }
}

__global__ void exact_double(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * HALF;  // expect: double-precision source
}

__global__ void double_initializer(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float scale = 0.1, shift = 2;
  if (i < n) y[i] = x[i] * scale + shift;
}

__global__ void real_doubles(const double* __restrict__ x, double* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 1.0001;
}

__global__ void double_comparison(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.1 ? 1.0f : 0.0f;  // expect: double-precision source ptx
}

__global__ void float_trigonometry(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sinf(x[i]) + cosf(3.0f * x[i]);
}

__global__ void widened_late(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || column >= columns) return;
  size_t at = row * columns + column;  // expect: index-overflow source
  y[at] = x[at];
}

__global__ void widened_first(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || column >= columns) return;
  size_t at = static_cast<size_t>(row) * columns + column;
  long long same = (long long)row * columns + column;
  y[at] = x[same];
}
