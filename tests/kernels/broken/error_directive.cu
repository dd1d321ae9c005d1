#ifndef TILE
#error "define TILE"  // expect nvcc-error-directive
#endif
__global__ void scale(float* x) { x[0] = TILE; }
