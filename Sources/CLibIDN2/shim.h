/* libidn2: international host names as ASCII. No code. */
#include <idn2.h>
