// Channel: framed messages over one end of a socketpair. The supervisor makes the pair, gives one
// end to its child as file descriptor 3 and keeps the other. Frame: u32 little-endian payload size,
// u16 message type, u16 zero, payload (UTF-8 JSON). See docs/formats/link.md. Send may be called
// from any thread; Receive from one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/mutex.h"
#include "base/status.h"
#include "contract/codec.h"
#include "contract/messages.h"

namespace gp::link {

inline constexpr int kEngineDescriptor = 3;

class Channel {
 public:
  // `name` appears in errors: "trainer 7f3k2q9a0c rank 1". A larger payload than
  // `received_bytes_max` is refused before it is read.
  Channel(FileDescriptor socket, std::string name, uint32_t received_bytes_max = kPayloadBytesMax);

  // Two connected ends, close-on-exec.
  static StatusOr<std::pair<FileDescriptor, FileDescriptor>> MakePair();

  // Unavailable when the peer is gone; DeadlineExceeded when it does not read for `timeout` (the
  // channel is then closed if half a frame was sent); InvalidArgument above kPayloadBytesMax.
  Status Send(const Message& message, std::chrono::nanoseconds timeout = std::chrono::seconds(10))
      EXCLUDES(send_mutex_);

  // The next message; nullopt after `timeout`. Unavailable when the peer closed; DataLoss for a
  // malformed frame (the channel is then useless). Messages of unknown types are skipped.
  StatusOr<std::optional<Message>> Receive(std::chrono::nanoseconds timeout);

  // Ends both directions; a Receive in another thread returns Unavailable. Thread-safe.
  void Shutdown();

  int descriptor() const { return socket_.get(); }

 private:
  StatusOr<std::optional<Message>> TakeFrame();
  Status ReadSome();

  const FileDescriptor socket_;
  const std::string name_;
  const uint32_t received_bytes_max_;
  Mutex send_mutex_;
  std::string received_;  // bytes not yet decoded; used by the receiving thread alone
};

}  // namespace gp::link
