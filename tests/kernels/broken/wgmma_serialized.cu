// builds
// arch sm_90a
__device__ __noinline__ float outside(float a) { return a * 2 + 1; }
__global__ void scale(float* x, unsigned long long a, unsigned long long b) {  // expect ptxas-C7514
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
  x[1] = outside(d[0]);
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  x[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
