__global__ void scale(float* x) {
  asm volatile("add.f32 %0, %0, %1;" : "+f"(x[0]) : "l"(x));  // expect ptxas-asm-operand
}
