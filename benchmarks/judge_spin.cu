// A kernel that takes SPIN cycles of the SM's clock and little more.
// /// schedule
// [define]
// SPIN = 100000
// [[launch]]
// kernel = "transpose"
// grid = ["ceildiv(C, 16)", "ceildiv(R, 16)"]
// block = [16, 16]
// args = ["A", "B", "R", "C"]
// ///
__global__ void transpose(const float* a, float* b, int rows, int columns) {
    long long began = clock64();
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i < rows && j < columns) b[(size_t)j * rows + i] = a[(size_t)i * columns + j];
    while (clock64() - began < SPIN) {}
}
