// /// schedule
// [define]
// BLOCK = 128
// TILE = 16
// [scratch]
// centred = { dtype = "float32", shape = ["N", "M"] }
// [[launch]]
// kernel = "centre"
// grid = ["ceildiv(M, BLOCK)"]
// block = ["BLOCK"]
// args = ["data", "centred", "N", "M"]
// [[launch]]
// kernel = "covary"
// grid = ["ceildiv(M, TILE)", "ceildiv(M, TILE)"]
// block = ["TILE", "TILE"]
// args = ["centred", "cov", "N", "M"]
// [tune]
// BLOCK = [32, 64, 128]
// TILE = [8, 16, 32]
// ///

// Every column less its mean; one thread per column.
__global__ void centre(const float* data, float* centred, int n, int m) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= m) return;
    float mean = 0.0f;
    for (int i = 0; i < n; ++i) mean += data[(size_t)i * m + j];
    mean /= n;
    for (int i = 0; i < n; ++i) centred[(size_t)i * m + j] = data[(size_t)i * m + j] - mean;
}

// One thread per pair of columns.
__global__ void covary(const float* centred, float* cov, int n, int m) {
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    if (row >= m || column >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += centred[(size_t)i * m + row] * centred[(size_t)i * m + column];
    cov[(size_t)row * m + column] = sum / (n - 1);
}
