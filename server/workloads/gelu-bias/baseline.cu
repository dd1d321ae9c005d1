// /// schedule
// [define]
// BLOCK = 256
// [[launch]]
// kernel = "gelu_bias"
// grid = ["ceildiv(R * C, BLOCK)"]
// block = ["BLOCK"]
// args = ["x", "bias", "y", "R*C", "C"]
// [tune]
// BLOCK = [64, 128, 256, 512]
// ///

#include <cuda_fp16.h>

// One thread per element, in float32 between load and store.
__global__ void gelu_bias(const __half* x, const __half* bias, __half* y, long long elements, int c) {
    long long at = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (at >= elements) return;
    float t = __half2float(x[at]) + __half2float(bias[at % c]);
    float inner = 0.7978845608f * (t + 0.044715f * t * t * t);
    y[at] = __float2half(0.5f * t * (1.0f + tanhf(inner)));
}
