__device__ float twice(float a) { return a + a; }
__device__ float twice(float a) { return 2 * a; }  // expect nvcc-redefinition
__global__ void scale(float* x) { x[0] = twice(x[1]); }
