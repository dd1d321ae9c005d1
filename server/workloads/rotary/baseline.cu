// /// schedule
// [define]
// BLOCK = 256
// [[launch]]
// kernel = "rotate"
// grid = ["ceildiv(S * H * HALF, BLOCK)"]
// block = ["BLOCK"]
// args = ["x", "cosine", "sine", "y", "S*H*HALF", "H", "HALF"]
// [tune]
// BLOCK = [64, 128, 256, 512]
// ///

#include <cuda_bf16.h>

// One thread per pair.
__global__ void rotate(const __nv_bfloat16* x, const float* cosine, const float* sine, __nv_bfloat16* y, long long pairs,
                       int h, int half) {
    long long pair = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (pair >= pairs) return;
    long long row = pair / half;
    int i = pair % half;
    size_t first = row * 2 * half + i, second = first + half;
    float c = cosine[row / h * half + i], s = sine[row / h * half + i];
    float a = __bfloat162float(x[first]), b = __bfloat162float(x[second]);
    y[first] = __float2bfloat16(a * c - b * s);
    y[second] = __float2bfloat16(b * c + a * s);
}
