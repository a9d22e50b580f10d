// CUDA's built-in vector types with CUDA's alignments, so that UndefinedBehaviorSanitizer detects a
// misaligned 16-byte access, which a device would refuse.
#pragma once

#define GP_VECTOR_TYPES(scalar, name, align2, align4)                                  \
  struct name##1 {                                                                     \
    scalar x;                                                                          \
  };                                                                                   \
  struct alignas(align2) name##2 {                                                     \
    scalar x, y;                                                                       \
  };                                                                                   \
  struct name##3 {                                                                     \
    scalar x, y, z;                                                                    \
  };                                                                                   \
  struct alignas(align4) name##4 {                                                     \
    scalar x, y, z, w;                                                                 \
  };                                                                                   \
  constexpr name##1 make_##name##1(scalar x) { return {x}; }                           \
  constexpr name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }              \
  constexpr name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

GP_VECTOR_TYPES(char, char, 2, 4)
GP_VECTOR_TYPES(unsigned char, uchar, 2, 4)
GP_VECTOR_TYPES(short, short, 4, 8)
GP_VECTOR_TYPES(unsigned short, ushort, 4, 8)
GP_VECTOR_TYPES(int, int, 8, 16)
GP_VECTOR_TYPES(unsigned int, uint, 8, 16)
GP_VECTOR_TYPES(long long, longlong, 16, 16)
GP_VECTOR_TYPES(unsigned long long, ulonglong, 16, 16)
GP_VECTOR_TYPES(float, float, 8, 16)
GP_VECTOR_TYPES(double, double, 16, 16)
#undef GP_VECTOR_TYPES

struct dim3 {
  constexpr dim3(unsigned int x_size = 1, unsigned int y_size = 1, unsigned int z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}

  unsigned int x;
  unsigned int y;
  unsigned int z;
};
