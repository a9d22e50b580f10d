#include "worker/trainer/state/state_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/failpoint.h"
#include "base/machine/progress.h"
#include "formats/sha256.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

// 8 MiB: large, so that the fixed cost of a copy does not matter; small, so that a watcher sees
// progress on a slow network.
constexpr size_t kPieceBytes = size_t{8} << 20;
constexpr uint64_t kTextBytesMax = 16 << 20;
constexpr size_t kDigestCharacters = 64;

class Transfer {
 public:
  Transfer(const Joining& joining, Communicator& communicator)
      : joining_(joining), communicator_(communicator) {}

  bool gives() const { return communicator_.rank() == joining_.donor; }
  bool takes() const { return std::ranges::count(joining_.ranks, communicator_.rank()) > 0; }

  std::string SendText(const std::string& text) {
    uint64_t size = text.size();
    Copy(std::as_writable_bytes(std::span(&size, 1)));
    if (size > kTextBytesMax) {
      throw CollectiveError(
          fmt::format("rank {} sent a state of the training of {} bytes; at most "
                      "{} are allowed",
                      joining_.donor, size, kTextBytesMax));
    }
    std::string sent = text;
    if (takes()) sent.resize(size);
    Copy(std::as_writable_bytes(std::span(sent)));
    return takes() ? sent : "";
  }

  void SendValues(std::span<float> values) {
    const std::span<std::byte> bytes = std::as_writable_bytes(values);
    for (size_t first = 0; first < bytes.size(); first += kPieceBytes) {
      if (gives()) Failpoint("trainer.give_state");
      if (takes()) Failpoint("trainer.take_state");
      Copy(bytes.subspan(first, std::min(kPieceBytes, bytes.size() - first)));
      progress::Tick();
    }
  }

  // Returns after every rank knows that the digests are equal.
  void CompareDigests() {
    const std::string own =
        gives() || takes() ? digest_.Finish() : std::string(kDigestCharacters, ' ');
    std::string donors = own;
    communicator_.CopyTo(std::as_writable_bytes(std::span(donors)), joining_.donor, joining_.ranks);
    double differs = donors == own ? 0 : communicator_.rank() + 1;
    communicator_.AllReduceMax({&differs, 1});
    if (differs == 0) return;
    const std::string what = fmt::format(
        "rank {} did not receive the state of rank {} as it was sent", differs - 1, joining_.donor);
    if (donors != own) throw TrainingError(ExitCause::kError, what);
    throw CollectiveError(what);
  }

 private:
  void Copy(std::span<std::byte> bytes) {
    communicator_.CopyTo(bytes, joining_.donor, joining_.ranks);
    if (!gives() && !takes()) return;
    digest_.Update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  const Joining& joining_;
  Communicator& communicator_;
  formats::Sha256 digest_;
};

}  // namespace

std::string TransferState(const Joining& joining, const std::vector<std::span<float>>& values,
                          const std::string& text, Communicator& communicator) {
  Transfer transfer(joining, communicator);
  std::string received = transfer.SendText(text);
  for (const std::span<float> part : values) transfer.SendValues(part);
  transfer.CompareDigests();
  return received;
}

}  // namespace gp::engine
