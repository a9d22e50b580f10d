// A libcudnn.so.9 with one function: programs read its version before they use it.
#include <cstddef>

extern "C" size_t cudnnGetVersion() { return 91900; }
