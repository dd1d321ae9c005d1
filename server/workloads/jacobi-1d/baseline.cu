// /// schedule
// [define]
// BLOCK = 256
// [scratch]
// B = { dtype = "float32", shape = ["N"] }
// [[repeat]]
// var = "t"
// count = "T"
// [[repeat.launch]]
// kernel = "smooth"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["A", "B", "N"]
// [[repeat.launch]]
// kernel = "copy"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["B", "A", "N"]
// [tune]
// BLOCK = [128, 256, 512]
// ///

__global__ void smooth(const float* A, float* B, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i > 0 && i < n - 1) B[i] = (A[i - 1] + A[i] + A[i + 1]) * (1.0f / 3.0f);
}

__global__ void copy(const float* B, float* A, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i > 0 && i < n - 1) A[i] = B[i];
}
