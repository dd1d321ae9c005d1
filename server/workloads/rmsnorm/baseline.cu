// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "rmsnorm"
// grid = ["R"]
// block = ["BLOCK"]
// args = ["x", "weight", "y", "eps", "C"]
// [tune]
// BLOCK = [64, 128, 256, 512]
// ///

#include <cuda_bf16.h>

// The sum over the block, known to all of its threads.
__device__ float block_sum(float value) {
    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

// One block per row.
__global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y, float eps, int c) {
    const __nv_bfloat16* row = x + (size_t)blockIdx.x * c;
    float squares = 0.0f;
    for (int j = threadIdx.x; j < c; j += BLOCK) {
        float value = __bfloat162float(row[j]);
        squares += value * value;
    }
    float inverse = 1.0f / sqrtf(block_sum(squares) / c + eps);
    for (int j = threadIdx.x; j < c; j += BLOCK) {
        float value = __bfloat162float(row[j]) * inverse * __bfloat162float(weight[j]);
        y[(size_t)blockIdx.x * c + j] = __float2bfloat16(value);
    }
}
