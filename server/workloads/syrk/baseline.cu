// /// schedule
// [define]
// TILE = 16
// [[launch]]
// kernel = "syrk"
// grid = ["ceildiv(N, TILE)", "ceildiv(N, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "C", "alpha", "beta", "N", "M"]
// [tune]
// TILE = [8, 16, 32]
// ///

// One thread per element of C.
__global__ void syrk(const float* A, float* C, float alpha, float beta, int n, int m) {
    int i = blockIdx.y * TILE + threadIdx.y;
    int j = blockIdx.x * TILE + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < m; ++k) sum += A[(size_t)i * m + k] * A[(size_t)j * m + k];
    C[(size_t)i * n + j] = alpha * sum + beta * C[(size_t)i * n + j];
}
