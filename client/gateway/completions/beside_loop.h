// Moves work that would block the event loop, such as parsing a large body, to the OffloadPool.
// Used in the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "http/content_coding.h"
#include "http/exchange.h"
#include "http/offload_pool.h"

namespace gp::gateway {

inline http::ApiError Busy() {
  return {.status = 503,
          .message = "the gateway is busy; try again in a moment",
          .code = "busy",
          .retry_after = 1};
}

// Whether parsing the body may take a millisecond or more: it has over 64 KiB, or is compressed.
inline bool IsLongBody(const http::Request& request) {
  constexpr size_t kBodyInLoop = 64 << 10;
  return request.body.size() > kBodyInLoop || !http::IsPlainBody(request);
}

// Runs `compute` here, or on the pool if `slow`, then calls `then` with the result in the loop.
// When too much work waits for the pool it responds 503 (Busy) and calls neither.
template <typename T>
void Compute(http::OffloadPool& work, bool slow, const std::shared_ptr<http::Exchange>& exchange,
             std::function<T()> compute, std::function<void(T)> then) {
  if (!slow) return then(compute());
  auto result = std::make_shared<std::optional<T>>();
  const bool begun =
      work.Submit([result, compute = std::move(compute)] { result->emplace(compute()); },
                  [result, then = std::move(then)] { then(**std::move(result)); });
  if (!begun) exchange->Respond(Busy());
}

}  // namespace gp::gateway
