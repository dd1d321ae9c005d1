__global__ void scale(float* x) {
  if (x[0] < 0) throw 1;  // expect nvcc-unsupported-in-device-code
}
