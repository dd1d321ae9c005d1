#include <no_such_header.h>  // expect nvcc-missing-include
__global__ void scale(float* x) { x[0] = 1; }
int main() { scale<<<1, 1>>>(nullptr); }
