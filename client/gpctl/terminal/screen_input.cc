#include "client/gpctl/terminal/screen_input.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gp::gpctl {
namespace {

// Set by the handlers of signals.
std::atomic<bool> window_changed = false;
std::atomic<bool> stop_wanted = false;
std::atomic<bool> was_continued = false;
std::atomic<int> wake_descriptor = -1;

void WakeDescriptor(int descriptor) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(descriptor, &one, sizeof(one));
}

void OnTerminalSignal(int signal) {
  const int saved_errno = errno;
  if (signal == SIGWINCH) window_changed = true;
  if (signal == SIGTSTP) stop_wanted = true;
  if (signal == SIGCONT) was_continued = true;
  WakeDescriptor(wake_descriptor);
  errno = saved_errno;
}

constexpr std::pair<std::string_view, KeyPress::Kind> kSequences[] = {
    {"[A", KeyPress::Kind::kUp},      {"OA", KeyPress::Kind::kUp},
    {"[B", KeyPress::Kind::kDown},    {"OB", KeyPress::Kind::kDown},
    {"[5~", KeyPress::Kind::kPageUp}, {"[6~", KeyPress::Kind::kPageDown},
    {"[H", KeyPress::Kind::kHome},    {"OH", KeyPress::Kind::kHome},
    {"[1~", KeyPress::Kind::kHome},   {"[7~", KeyPress::Kind::kHome},
    {"[F", KeyPress::Kind::kEnd},     {"OF", KeyPress::Kind::kEnd},
    {"[4~", KeyPress::Kind::kEnd},    {"[8~", KeyPress::Kind::kEnd}};

// The bytes after ESC that belong to its sequence: CSI or SS3, parameters and a final byte; 0 for
// the key Escape.
size_t SequenceSize(std::string_view after_escape) {
  if (after_escape.empty()) return 0;
  if (after_escape[0] != '[' && after_escape[0] != 'O') return 0;
  for (size_t i = 1; i < after_escape.size(); ++i) {
    if (after_escape[i] >= '@' && after_escape[i] <= '~') return i + 1;
  }
  return after_escape.size();
}

KeyPress KeyOfSequence(std::string_view sequence) {
  for (const auto& [bytes, kind] : kSequences) {
    if (sequence == bytes) return {kind};
  }
  return {};
}

KeyPress KeyOfByte(char byte) {
  if (byte == '\n' || byte == '\r') return {KeyPress::Kind::kEnter};
  if (byte >= ' ' && byte <= '~') return {KeyPress::Kind::kCharacter, byte};
  return {};
}

}  // namespace

bool IsLetter(const KeyPress& key, char lower) {
  return key.kind == KeyPress::Kind::kCharacter && (key.character | 0x20) == lower;
}

std::vector<KeyPress> KeysIn(std::string_view bytes) {
  std::vector<KeyPress> keys;
  while (!bytes.empty()) {
    const char byte = bytes.front();
    bytes.remove_prefix(1);
    if (byte != '\x1b') {
      keys.push_back(KeyOfByte(byte));
      continue;
    }
    const size_t size = SequenceSize(bytes);
    keys.push_back(size == 0 ? KeyPress{KeyPress::Kind::kEscape}
                             : KeyOfSequence(bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
  return keys;
}

ScreenInput::ScreenInput(int keys) : keys_(keys), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  wake_descriptor = wake_;
  CatchSignals();
}

ScreenInput::~ScreenInput() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_[i], nullptr);
  wake_descriptor = -1;
  close(wake_);
}

void ScreenInput::CatchSignals() {
  struct sigaction action {};
  action.sa_handler = &OnTerminalSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &actions_[i]);
}

ScreenInput::News ScreenInput::Wait(std::chrono::nanoseconds longest) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  std::array<pollfd, 2> ready = {pollfd{wake_, POLLIN, 0}, pollfd{keys_, POLLIN, 0}};
  poll(ready.data(), ready.size(), static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 60'000)));
  News news;
  if (ready[0].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(wake_, &count, sizeof(count));
  }
  if (ready[1].revents != 0) {
    std::array<char, 256> bytes{};
    const ssize_t size = read(keys_, bytes.data(), bytes.size());
    if (size > 0) news.keys = KeysIn({bytes.data(), static_cast<size_t>(size)});
    if (size == 0 || (size < 0 && errno != EINTR)) keys_ = -1;  // the terminal is gone
  }
  news.resized = window_changed.exchange(false);
  news.suspended = stop_wanted.exchange(false);
  news.continued = was_continued.exchange(false);
  return news;
}

void ScreenInput::Wake() { WakeDescriptor(wake_); }

void ScreenInput::StopProcess() {
  std::signal(SIGTSTP, SIG_DFL);
  std::raise(SIGTSTP);
  struct sigaction action {};
  action.sa_handler = &OnTerminalSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTSTP, &action, nullptr);
  was_continued = false;  // the caller knows
}

}  // namespace gp::gpctl
