// /// schedule
// [define]
// BX = 32
// BY = 4
// [scratch]
// P = { dtype = "float32", shape = ["H", "S", "S"] }
// [[launch]]
// kernel = "score"
// grid = ["ceildiv(S, BX)", "ceildiv(S, BY)", "H"]
// block = ["BX", "BY"]
// args = ["Q", "K", "P", "S", "D"]
// [[launch]]
// kernel = "normalize"
// grid = ["ceildiv(S, BX)", "H"]
// block = ["BX"]
// args = ["P", "S"]
// [[launch]]
// kernel = "combine"
// grid = ["ceildiv(D, BX)", "ceildiv(S, BY)", "H"]
// block = ["BX", "BY"]
// args = ["P", "V", "O", "S", "D"]
// [tune]
// BX = [16, 32, 64]
// BY = [2, 4, 8]
// ///

// P = Q * transposed K / sqrt(d), one thread per pair of positions j <= i.
__global__ void score(const float* Q, const float* K, float* P, int s, int d) {
    int i = blockIdx.y * BY + threadIdx.y;
    int j = blockIdx.x * BX + threadIdx.x;
    if (i >= s || j >= i + 1) return;
    const float* q = Q + ((size_t)blockIdx.z * s + i) * d;
    const float* k = K + ((size_t)blockIdx.z * s + j) * d;
    float sum = 0.0f;
    for (int x = 0; x < d; ++x) sum += q[x] * k[x];
    P[((size_t)blockIdx.z * s + i) * s + j] = sum / sqrtf((float)d);
}

// Softmax of every row of P in place, one thread per row.
__global__ void normalize(float* P, int s) {
    int i = blockIdx.x * BX + threadIdx.x;
    if (i >= s) return;
    float* row = P + ((size_t)blockIdx.y * s + i) * s;
    float most = row[0], sum = 0.0f;
    for (int j = 1; j < i + 1; ++j) most = fmaxf(most, row[j]);
    for (int j = 0; j < i + 1; ++j) sum += row[j] = expf(row[j] - most);
    for (int j = 0; j < i + 1; ++j) row[j] /= sum;
}

// O = P * V, one thread per element.
__global__ void combine(const float* P, const float* V, float* O, int s, int d) {
    int i = blockIdx.y * BY + threadIdx.y;
    int x = blockIdx.x * BX + threadIdx.x;
    if (i >= s || x >= d) return;
    const float* row = P + ((size_t)blockIdx.z * s + i) * s;
    float sum = 0.0f;
    for (int j = 0; j < i + 1; ++j) sum += row[j] * V[((size_t)blockIdx.z * s + j) * d + x];
    O[((size_t)blockIdx.z * s + i) * d + x] = sum;
}
