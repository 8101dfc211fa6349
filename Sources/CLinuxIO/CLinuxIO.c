#include "CLinuxIO.h"
