// /// schedule
// [define]
// BLOCK = 256
// [[launch]]
// kernel = "clear"
// grid = ["ceildiv(BINS, BLOCK)"]
// block = ["BLOCK"]
// args = ["counts", "BINS"]
// [[launch]]
// kernel = "count"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["x", "counts", "N"]
// [tune]
// BLOCK = [64, 128, 256, 512]
// ///

__global__ void clear(int* counts, int bins) {
    int b = blockIdx.x * BLOCK + threadIdx.x;
    if (b < bins) counts[b] = 0;
}

// One thread per element.
__global__ void count(const int* x, int* counts, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1);
}
