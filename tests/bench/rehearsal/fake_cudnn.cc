// What a program asks libcudnn.so.9 before it computes with it: the version.
#include <cstddef>

extern "C" size_t cudnnGetVersion() { return 91900; }
