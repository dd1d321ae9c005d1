// /// schedule
// [define]
// TILE = 16
// [scratch]
// E = { dtype = "float32", shape = ["NI", "NJ"] }
// F = { dtype = "float32", shape = ["NJ", "NL"] }
// [[launch]]
// kernel = "product"
// grid = ["ceildiv(NJ, TILE)", "ceildiv(NI, TILE)"]
// block = ["TILE", "TILE"]
// args = ["A", "B", "E", "NI", "NJ", "NK"]
// [[launch]]
// kernel = "product"
// grid = ["ceildiv(NL, TILE)", "ceildiv(NJ, TILE)"]
// block = ["TILE", "TILE"]
// args = ["C", "D", "F", "NJ", "NL", "NM"]
// [[launch]]
// kernel = "product"
// grid = ["ceildiv(NL, TILE)", "ceildiv(NI, TILE)"]
// block = ["TILE", "TILE"]
// args = ["E", "F", "G", "NI", "NL", "NJ"]
// [tune]
// TILE = [8, 16, 32]
// ///

// Z = X * Y, one thread per element of Z (rows x columns), `terms` products each.
__global__ void product(const float* X, const float* Y, float* Z, int rows, int columns, int terms) {
    int i = blockIdx.y * TILE + threadIdx.y;
    int j = blockIdx.x * TILE + threadIdx.x;
    if (i >= rows || j >= columns) return;
    float sum = 0.0f;
    for (int k = 0; k < terms; ++k) sum += X[(size_t)i * terms + k] * Y[(size_t)k * columns + j];
    Z[(size_t)i * columns + j] = sum;
}
