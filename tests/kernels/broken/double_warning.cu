// builds
// flags -Xptxas=-warn-double-usage
__global__ void scale(double* x) { x[0] = x[1] * 2; }  // expect ptxas-double
