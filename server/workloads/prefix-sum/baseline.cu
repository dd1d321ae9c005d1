// /// schedule
// [define]
// BLOCK = 256
// [scratch]
// totals = { dtype = "int64", shape = ["ceildiv(N, BLOCK)"] }
// [[launch]]
// kernel = "scan_blocks"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["x", "y", "totals", "N"]
// [[launch]]
// kernel = "scan_totals"
// grid = [1]
// block = ["BLOCK"]
// args = ["totals", "ceildiv(N,BLOCK)"]
// [[launch]]
// kernel = "add_totals"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["totals", "y", "N"]
// [tune]
// BLOCK = [256, 512, 1024]
// ///

// The inclusive sums over the block, for its first `count` threads; the others give zero.
__device__ long long scan(long long value) {
    __shared__ long long sums[BLOCK];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        long long before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    return sums[threadIdx.x];
}

// Sums inside each block, and the block's total.
__global__ void scan_blocks(const int* x, long long* y, long long* totals, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    long long sum = scan(i < n ? x[i] : 0);
    if (i < n) y[i] = sum;
    if (threadIdx.x == BLOCK - 1) totals[blockIdx.x] = sum;
}

// Inclusive sums of the totals, in place; one block goes through them piece by piece.
__global__ void scan_totals(long long* totals, int blocks) {
    __shared__ long long last;
    long long carry = 0;
    for (int start = 0; start < blocks; start += BLOCK) {
        int i = start + threadIdx.x;
        long long sum = carry + scan(i < blocks ? totals[i] : 0);
        if (i < blocks) totals[i] = sum;
        if (threadIdx.x == BLOCK - 1) last = sum;
        __syncthreads();
        carry = last;
    }
}

// What all blocks before this one add up to.
__global__ void add_totals(const long long* totals, long long* y, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n && blockIdx.x > 0) y[i] += totals[blockIdx.x - 1];
}
