// /// schedule
// [define]
// TILE = 16
// [[launch]]
// kernel = "gemm"
// grid = ["ceildiv(NJ, TILE)", "ceildiv(NI, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "B", "C", "alpha", "beta", "NI", "NJ", "NK"]
// [tune]
// TILE = [8, 16, 32]
// ///

// One thread per element of C.
__global__ void gemm(const float* A, const float* B, float* C, float alpha, float beta, int ni, int nj, int nk) {
    int i = blockIdx.y * TILE + threadIdx.y;
    int j = blockIdx.x * TILE + threadIdx.x;
    if (i >= ni || j >= nj) return;
    float sum = 0.0f;
    for (int k = 0; k < nk; ++k) sum += A[(size_t)i * nk + k] * B[(size_t)k * nj + j];
    C[(size_t)i * nj + j] = alpha * sum + beta * C[(size_t)i * nj + j];
}
