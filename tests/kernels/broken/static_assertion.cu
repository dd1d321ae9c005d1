constexpr int tile = 48;
static_assert(tile % 32 == 0, "tile must be a multiple of a warp");  // expect nvcc-static-assertion
__global__ void scale(float* x) { x[tile] = 0; }
