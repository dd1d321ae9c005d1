// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "rows_times_p"
// grid = ["ceildiv(M, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "p", "q", "M", "N"]
// [[launch]]
// kernel = "columns_times_r"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "r", "s", "M", "N"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

// q = A * p, one thread per row.
__global__ void rows_times_p(const float* A, const float* p, float* q, int m, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= m) return;
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) sum += A[(size_t)i * n + j] * p[j];
    q[i] = sum;
}

// s = transposed A * r, one thread per column.
__global__ void columns_times_r(const float* A, const float* r, float* s, int m, int n) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < m; ++i) sum += A[(size_t)i * n + j] * r[i];
    s[j] = sum;
}
