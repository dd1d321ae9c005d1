// /// schedule
// [define]
// TILE = 16
// [[launch]]
// kernel = "transpose"
// grid = ["ceildiv(C, TILE)", "ceildiv(R, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "B", "R", "C"]
// [tune]
// TILE = [8, 16, 32]
// ///

// A tile goes through shared memory, so that both the reads and the writes of a warp are contiguous.
__global__ void transpose(const float* A, float* B, int r, int c) {
    __shared__ float tile[TILE][TILE + 1];
    int i = blockIdx.y * TILE + threadIdx.y;
    int j = blockIdx.x * TILE + threadIdx.x;
    if (i < r && j < c) tile[threadIdx.y][threadIdx.x] = A[(size_t)i * c + j];
    __syncthreads();
    i = blockIdx.y * TILE + threadIdx.x;
    j = blockIdx.x * TILE + threadIdx.y;
    if (i < r && j < c) B[(size_t)j * r + i] = tile[threadIdx.x][threadIdx.y];
}
