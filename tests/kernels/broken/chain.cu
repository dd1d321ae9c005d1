// expect-anywhere nvcc-missing-include
#include "chain_outer.h"
int main() { return 0; }
