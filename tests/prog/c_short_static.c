/* flags: -static */
#include "c_short.c"
