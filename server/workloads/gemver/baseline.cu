// /// schedule
// [define]
// TILE = 16
// BLOCK = 128
// [[launch]]
// kernel = "update"
// grid = ["ceildiv(N, TILE)", "ceildiv(N, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "u1", "v1", "u2", "v2", "N"]
// [[launch]]
// kernel = "columns_times_y"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "y", "z", "x", "beta", "N"]
// [[launch]]
// kernel = "rows_times_x"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "x", "w", "alpha", "N"]
// [tune]
// TILE = [8, 16, 32]
// BLOCK = [64, 128, 256]
// ///

// The rank-two update, one thread per element.
__global__ void update(float* A, const float* u1, const float* v1, const float* u2, const float* v2, int n) {
    int i = blockIdx.y * TILE + threadIdx.y;
    int j = blockIdx.x * TILE + threadIdx.x;
    if (i < n && j < n) A[(size_t)i * n + j] += u1[i] * v1[j] + u2[i] * v2[j];
}

// x += beta * transposed A * y + z, one thread per column.
__global__ void columns_times_y(const float* A, const float* y, const float* z, float* x, float beta, int n) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += A[(size_t)i * n + j] * y[i];
    x[j] += beta * sum + z[j];
}

// w = alpha * A * x, one thread per row.
__global__ void rows_times_x(const float* A, const float* x, float* w, float alpha, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) sum += A[(size_t)i * n + j] * x[j];
    w[i] = alpha * sum;
}
