// ReadyRanges: the final ranges of a gradient, passed from the trainer's thread to the one that
// reduces them. Its descriptor is readable when there is something to take, so that the second
// thread can wait for this and for its peers at once. One thread posts and closes, another one
// takes.
#pragma once

#include <optional>

#include "base/file.h"
#include "base/mailbox.h"
#include "worker/engine/model/gradient_stages.h"

namespace gp::engine {

class ReadyRanges {
 public:
  // std::system_error when the process may open no more files.
  ReadyRanges();

  // Does nothing when it is closed.
  void Post(GradientRange range);
  // No more will be posted; queued ranges can still be taken.
  void Close();

  // Readable when there is a range, or the end.
  int fd() const { return signal_.get(); }
  std::optional<GradientRange> Take();
  // Closed, and everything was taken.
  bool ended() const { return ranges_.drained(); }

 private:
  void Signal();

  Mailbox<GradientRange> ranges_;
  const FileDescriptor signal_;  // counts ranges posted but not taken, and the end
};

}  // namespace gp::engine
