// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "layernorm"
// grid = ["R"]
// block = ["BLOCK"]
// args = ["x", "gamma", "beta", "y", "eps", "C"]
// [tune]
// BLOCK = [64, 128, 256, 512]
// ///

// The sum over the block, known to all of its threads.
__device__ float block_sum(float value) {
    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float sum = partial[0];
    __syncthreads();
    return sum;
}

// One block per row.
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, float eps, int c) {
    const float* row = x + (size_t)blockIdx.x * c;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < c; j += BLOCK) sum += row[j];
    float mean = block_sum(sum) / c;
    float squares = 0.0f;
    for (int j = threadIdx.x; j < c; j += BLOCK) squares += (row[j] - mean) * (row[j] - mean);
    float inverse = 1.0f / sqrtf(block_sum(squares) / c + eps);
    for (int j = threadIdx.x; j < c; j += BLOCK)
        y[(size_t)blockIdx.x * c + j] = (row[j] - mean) * inverse * gamma[j] + beta[j];
}
