// ScreenInput: keys of a live screen, and the signals that concern a terminal: a new size
// (SIGWINCH), Ctrl-Z (SIGTSTP) and the continuation after it (SIGCONT). At most one exists. Owned
// and used by one thread; Wake may be called by any.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <vector>

namespace gp::gpctl {

struct KeyPress {
  enum class Kind {
    kCharacter,
    kEnter,
    kEscape,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kOther
  };

  Kind kind = Kind::kOther;
  char character = '\0';  // of kCharacter: an ASCII character

  bool operator==(const KeyPress&) const = default;
};

// Whether the key is this letter, in lower or upper case. REQUIRES: a lower-case letter.
bool IsLetter(const KeyPress& key, char lower);

// The keys that sent these bytes.
std::vector<KeyPress> KeysIn(std::string_view bytes);

class ScreenInput {
 public:
  struct News {
    std::vector<KeyPress> keys;
    bool resized = false;
    bool suspended = false;  // the process was asked to stop; see StopProcess
    bool continued = false;
  };

  // `keys`: the descriptor of a terminal; -1: none.
  explicit ScreenInput(int keys);
  ~ScreenInput();
  ScreenInput(const ScreenInput&) = delete;
  ScreenInput& operator=(const ScreenInput&) = delete;

  // Waits until something of the news happens or Wake is called, at most `longest`.
  News Wait(std::chrono::nanoseconds longest);
  void Wake();

  // Stops this process as Ctrl-Z does; returns when it is continued.
  void StopProcess();

 private:
  static constexpr std::array kSignals = {SIGWINCH, SIGTSTP, SIGCONT};

  void CatchSignals();

  int keys_;
  const int wake_;  // an eventfd
  std::array<struct sigaction, kSignals.size()> actions_{};
};

}  // namespace gp::gpctl
