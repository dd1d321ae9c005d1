__global__ void scale(float* x) {
  asm volatile("frobnicate.f32 %0, %0;" : "+f"(x[0]));  // expect ptxas-syntax
}
