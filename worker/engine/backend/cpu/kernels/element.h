// The element type of a Buffer, resolved once per kernel call. Included by the kernels of every
// instruction set.
#pragma once

#include <cstdint>

#include "worker/engine/backend/backend.h"

namespace gp::engine::GP_ISA_NAMESPACE {

// Calls body with the buffer's pointer in its element type: float* or uint16_t* (bf16).
template <typename Body>
inline void WithElement(Buffer buffer, Body body) {
  if (buffer.type == DataType::kBfloat16) {
    body(static_cast<uint16_t*>(buffer.data));
  } else {
    body(static_cast<float*>(buffer.data));
  }
}

// Calls body with the pointers of both buffers.
template <typename Body>
inline void WithElements(Buffer a, Buffer b, Body body) {
  WithElement(a, [&](auto* x) { WithElement(b, [&](auto* y) { body(x, y); }); });
}

}  // namespace gp::engine::GP_ISA_NAMESPACE
