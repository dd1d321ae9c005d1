// /// schedule
// [define]
// BLOCK = 256
// BLOCKS = 256
// [scratch]
// partial = { dtype = "float32", shape = ["BLOCKS"] }
// [[launch]]
// kernel = "reduce"
// grid = ["min(BLOCKS, ceildiv(N, BLOCK))"]
// block = ["BLOCK"]
// args = ["x", "partial", "N"]
// [[launch]]
// kernel = "reduce"
// grid = [1]
// block = ["BLOCK"]
// args = ["partial", "y", "min(BLOCKS,ceildiv(N,BLOCK))"]
// [tune]
// BLOCK = [128, 256, 512]
// BLOCKS = [256, 512, 1024]
// ///

// Each block sums what its threads gather in grid-wide strides; a second launch of one block sums the blocks.
__global__ void reduce(const float* x, float* sums, int n) {
    __shared__ float partial[BLOCK];
    float sum = 0.0f;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < n; i += (long long)gridDim.x * BLOCK) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
