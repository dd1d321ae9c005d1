#include "no_such_header.h"  // the fault that chain.cu expects
