// arch sm_90
__global__ void scale(float* x) {
  asm volatile("wgmma.fence.sync.aligned;");  // expect ptxas-arch-feature
  x[0] = 1;
}
