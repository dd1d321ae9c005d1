// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "cross_entropy"
// grid = ["R"]
// block = ["BLOCK"]
// args = ["x", "target", "loss", "C"]
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
    return partial[0];
}

// The maximum over the block, known to all of its threads.
__device__ float block_max(float value) {
    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[0];
}

// One block per row.
__global__ void cross_entropy(const float* x, const long long* target, float* loss, int c) {
    const float* row = x + (size_t)blockIdx.x * c;
    float most = -INFINITY;
    for (int j = threadIdx.x; j < c; j += BLOCK) most = fmaxf(most, row[j]);
    most = block_max(most);
    float sum = 0.0f;
    for (int j = threadIdx.x; j < c; j += BLOCK) sum += expf(row[j] - most);
    sum = block_sum(sum);
    if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + (most - row[target[blockIdx.x]]);
}
