// /// schedule
// [define]
// BX = 32
// BY = 8
// [scratch]
// sums = { dtype = "float32", shape = ["NR * NQ", "NP"] }
// [[launch]]
// kernel = "multiply"
// grid = ["ceildiv(NR * NQ, BY)", "ceildiv(NP, BX)"]
// block = ["BX", "BY"]
// args = ["A", "C", "sums", "NR*NQ", "NP"]
// [[launch]]
// kernel = "store"
// grid = ["ceildiv(NR * NQ * NP, BX * BY)"]
// block = ["BX * BY"]
// args = ["sums", "A", "NR*NQ*NP"]
// [tune]
// BX = [16, 32]
// BY = [4, 8, 16]
// ///

// sums = A * C over the last axis, one thread per element; A is still read by others, so it is written afterwards.
__global__ void multiply(const float* A, const float* C, float* sums, int rows, int np) {
    int row = blockIdx.x * BY + threadIdx.y;
    int p = blockIdx.y * BX + threadIdx.x;
    if (row >= rows || p >= np) return;
    float sum = 0.0f;
    for (int s = 0; s < np; ++s) sum += A[(size_t)row * np + s] * C[(size_t)s * np + p];
    sums[(size_t)row * np + p] = sum;
}

__global__ void store(const float* sums, float* A, long long elements) {
    long long at = (long long)blockIdx.x * BX * BY + threadIdx.x;
    if (at < elements) A[at] = sums[at];
}
