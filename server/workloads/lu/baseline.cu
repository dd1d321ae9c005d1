// /// schedule
// [define]
// TILE = 16
// BLOCK = 128
// [[repeat]]
// var = "k"
// count = "N - 1"
// [[repeat.launch]]
// kernel = "scale_row"
// grid = ["ceildiv(N - 1 - k, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "k", "N"]
// [[repeat.launch]]
// kernel = "update"
// grid = ["ceildiv(N - 1 - k, TILE)", "ceildiv(N - 1 - k, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "k", "N"]
// [tune]
// TILE = [8, 16, 32]
// ///

// Row k of U, right of its unit diagonal.
__global__ void scale_row(float* A, int k, int n) {
    int j = k + 1 + blockIdx.x * BLOCK + threadIdx.x;
    if (j < n) A[(size_t)k * n + j] /= A[(size_t)k * n + k];
}

// What is left of the matrix, below and right of (k, k).
__global__ void update(float* A, int k, int n) {
    int i = k + 1 + blockIdx.y * TILE + threadIdx.y;
    int j = k + 1 + blockIdx.x * TILE + threadIdx.x;
    if (i < n && j < n) A[(size_t)i * n + j] -= A[(size_t)i * n + k] * A[(size_t)k * n + j];
}
