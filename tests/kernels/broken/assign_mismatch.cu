struct Pair { float a, b; };
__global__ void scale(float* x, Pair p) {
  x[0] = p;  // expect nvcc-incompatible-types
}
