#ifndef TILE
#error "define TILE"  // expect nvcc-error-directive
#endif
int main() { return TILE; }
