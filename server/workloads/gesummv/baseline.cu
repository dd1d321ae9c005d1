// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "gesummv"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "B", "x", "y", "alpha", "beta", "N"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

// One thread per row.
__global__ void gesummv(const float* A, const float* B, const float* x, float* y, float alpha, float beta, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float from_a = 0.0f, from_b = 0.0f;
    for (int j = 0; j < n; ++j) {
        from_a += A[(size_t)i * n + j] * x[j];
        from_b += B[(size_t)i * n + j] * x[j];
    }
    y[i] = alpha * from_a + beta * from_b;
}
