// /// schedule
// [define]
// TILE = 16
// [scratch]
// AB = { dtype = "float32", shape = ["NI", "NJ"] }
// [[launch]]
// kernel = "first_product"
// grid = ["ceildiv(NJ, TILE)", "ceildiv(NI, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "B", "AB", "alpha", "NI", "NJ", "NK"]
// [[launch]]
// kernel = "second_product"
// grid = ["ceildiv(NL, TILE)", "ceildiv(NI, TILE)"]
// block = ["TILE", "TILE"]
// args = ["AB", "C", "D", "beta", "NI", "NL", "NJ"]
// [tune]
// TILE = [8, 16, 32]
// ///

// AB = alpha * A * B, one thread per element.
__global__ void first_product(const float* A, const float* B, float* AB, float alpha, int ni, int nj, int nk) {
    int i = blockIdx.y * TILE + threadIdx.y;
    int j = blockIdx.x * TILE + threadIdx.x;
    if (i >= ni || j >= nj) return;
    float sum = 0.0f;
    for (int k = 0; k < nk; ++k) sum += A[(size_t)i * nk + k] * B[(size_t)k * nj + j];
    AB[(size_t)i * nj + j] = alpha * sum;
}

// D = AB * C + beta * D, one thread per element.
__global__ void second_product(const float* AB, const float* C, float* D, float beta, int ni, int nl, int nj) {
    int i = blockIdx.y * TILE + threadIdx.y;
    int l = blockIdx.x * TILE + threadIdx.x;
    if (i >= ni || l >= nl) return;
    float sum = beta * D[(size_t)i * nl + l];
    for (int j = 0; j < nj; ++j) sum += AB[(size_t)i * nj + j] * C[(size_t)j * nl + l];
    D[(size_t)i * nl + l] = sum;
}
