// /// schedule
// [define]
// BLOCK = 128
// [scratch]
// Ax = { dtype = "float32", shape = ["M"] }
// [[launch]]
// kernel = "rows_times_x"
// grid = ["ceildiv(M, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "x", "Ax", "M", "N"]
// [[launch]]
// kernel = "columns_times_Ax"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "Ax", "y", "M", "N"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

// Ax = A * x, one thread per row.
__global__ void rows_times_x(const float* A, const float* x, float* Ax, int m, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= m) return;
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) sum += A[(size_t)i * n + j] * x[j];
    Ax[i] = sum;
}

// y = transposed A * Ax, one thread per column.
__global__ void columns_times_Ax(const float* A, const float* Ax, float* y, int m, int n) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < m; ++i) sum += A[(size_t)i * n + j] * Ax[i];
    y[j] = sum;
}
