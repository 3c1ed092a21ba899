/* cc: musl-gcc */
#include "c_short.c"
