float on_host(float a) { return a + 1; }
__global__ void scale(float* x) {
  x[0] = on_host(x[1]);  // expect nvcc-host-call
}
