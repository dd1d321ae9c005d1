// /// schedule
// [define]
// BLOCK = 128
// [[launch]]
// kernel = "attract"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["pos", "mass", "acc", "softening", "N"]
// [tune]
// BLOCK = [64, 128, 256]
// ///

// One thread per body.
__global__ void attract(const float* pos, const float* mass, float* acc, float softening, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    float x = pos[3 * i], y = pos[3 * i + 1], z = pos[3 * i + 2];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; ++j) {
        float dx = pos[3 * j] - x, dy = pos[3 * j + 1] - y, dz = pos[3 * j + 2] - z;
        float squared = dx * dx + dy * dy + dz * dz + softening * softening;
        float pull = mass[j] / (squared * sqrtf(squared));
        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    acc[3 * i] = ax;
    acc[3 * i + 1] = ay;
    acc[3 * i + 2] = az;
}
