#define SCALE(a, b) ((a) * (b))
__global__ void scale(float* x) {
  x[0] = SCALE(x[1]);  // expect nvcc-macro-arguments
}
