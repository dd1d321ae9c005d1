// /// schedule
// [define]
// BLOCK = 128
// TILE = 16
// [scratch]
// normal = { dtype = "float32", shape = ["N", "M"] }
// [[launch]]
// kernel = "normalize"
// grid = ["ceildiv(M, BLOCK)"]
// block = ["BLOCK"]
// args = ["data", "normal", "N", "M"]
// [[launch]]
// kernel = "correlate"
// grid = ["ceildiv(M, TILE)", "ceildiv(M, TILE)"]
// block = ["TILE", "TILE"]
// args = ["normal", "corr", "N", "M"]
// [tune]
// BLOCK = [32, 64, 128]
// TILE = [8, 16, 32]
// ///

// Every column, centred and divided by its length; one thread per column.
__global__ void normalize(const float* data, float* normal, int n, int m) {
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= m) return;
    float mean = 0.0f;
    for (int i = 0; i < n; ++i) mean += data[(size_t)i * m + j];
    mean /= n;
    float squares = 0.0f;
    for (int i = 0; i < n; ++i) {
        float centred = data[(size_t)i * m + j] - mean;
        squares += centred * centred;
    }
    float length = sqrtf(squares);
    for (int i = 0; i < n; ++i) normal[(size_t)i * m + j] = (data[(size_t)i * m + j] - mean) / length;
}

// One thread per pair of columns.
__global__ void correlate(const float* normal, float* corr, int n, int m) {
    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    if (row >= m || column >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += normal[(size_t)i * m + row] * normal[(size_t)i * m + column];
    corr[(size_t)row * m + column] = sum;
}
