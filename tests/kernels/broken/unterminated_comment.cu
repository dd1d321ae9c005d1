__global__ void scale(float* x) { x[0] = 1; }
/* never closed
// expect-anywhere nvcc-unterminated
