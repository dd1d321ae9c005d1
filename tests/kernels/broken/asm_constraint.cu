__global__ void scale(float* x) {
  asm volatile("add.f32 %0, %0, %1;" : "+q"(x[0]) : "f"(x[1]));  // expect nvcc-asm
}
