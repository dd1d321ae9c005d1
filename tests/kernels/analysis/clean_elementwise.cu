// Kernels with nothing to find: one thread, one element (or a few).
#include <cuda_fp16.h>

__global__ void saxpy(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void relu_grid_stride(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void gelu_bias(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  float v = x[row * columns + column] + bias[column];
  y[row * columns + column] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

__global__ void wide_copy(const float4* __restrict__ x, float4* __restrict__ y, size_t count) {
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i];
}

__global__ void half_scale(const __half2* __restrict__ x, __half2* __restrict__ y, __half2 scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hmul2(x[i], scale);
}

__global__ void stencil_3(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= n - 1) return;
  y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}

__global__ void heat_2d(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  int at = y * width + x;
  out[at] = in[at] + 0.1f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] - 4.0f * in[at]);
}

__global__ void max_pool_2x2(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width / 2 || y >= height / 2) return;
  const float2* top = reinterpret_cast<const float2*>(in + 2 * y * width);
  const float2* bottom = reinterpret_cast<const float2*>(in + (2 * y + 1) * width);
  float2 a = top[x], b = bottom[x];
  out[y * (width / 2) + x] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}

__global__ void gather_rows(const float* __restrict__ table, const int* __restrict__ ids, float* __restrict__ out, int columns) {
  int row = blockIdx.x;
  for (int column = threadIdx.x; column < columns; column += blockDim.x)
    out[row * columns + column] = table[ids[row] * columns + column];
}

__global__ void rotary(float2* __restrict__ x, const float2* __restrict__ angles, int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  float2 v = x[i], r = angles[i];
  x[i] = make_float2(v.x * r.x - v.y * r.y, v.x * r.y + v.y * r.x);
}

__global__ void mandelbrot(int* __restrict__ out, int width, int height, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cx = 3.0f * x / width - 2.0f, cy = 2.0f * y / height - 1.0f, zx = 0.0f, zy = 0.0f;
  int count = 0;
  while (zx * zx + zy * zy < 4.0f && count < limit) {
    float next = zx * zx - zy * zy + cx;
    zy = 2.0f * zx * zy + cy;
    zx = next;
    ++count;
  }
  out[y * width + x] = count;
}

__global__ void fill_random(unsigned* __restrict__ out, unsigned seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned state = seed ^ (i * 747796405u + 2891336453u);
  state = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  out[i] = (state >> 22) ^ state;
}
