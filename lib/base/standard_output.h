// StandardOutput: standard output of a program that never loses output silently. While one exists,
// std::cout and stdout write to its descriptor, and it keeps the first write error; Finish turns
// that error into a message and an exit code. Owned by main, which makes it before other threads
// exist; written by one thread at a time.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <iosfwd>
#include <memory>
#include <string>

namespace gp {

class StandardOutput {
 public:
  // Closed descriptors 0, 1 and 2 are opened so that using them fails: otherwise the next opened
  // file would take the number, and receive the output.
  explicit StandardOutput(int descriptor = STDOUT_FILENO);
  ~StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // Flushes both streams. The errno of the first write that failed; 0 when everything is written.
  int Flush();

  // Flushes. Returns `code`, the program's exit code so far, or 1 instead of 0 when output was
  // lost. Then the reason is written to `err`, except when the reader closed the pipe: that gives 1
  // without a message.
  int Finish(const std::string& program, int code, std::ostream& err);
  int Finish(const std::string& program, int code);  // on std::cerr

 private:
  static ssize_t Write(void* self, const char* data, size_t size);

  const int descriptor_;
  int error_ = 0;
  std::FILE* const stream_;
  std::FILE* const previous_stream_;
  const std::unique_ptr<std::streambuf> buffer_;
  std::streambuf* const previous_buffer_;
};

// The message for an output that cannot be written: "cannot write to standard output: No space left
// on device". Empty when the reader closed the pipe (head, less): nothing to report. REQUIRES:
// `error` != 0.
std::string LostOutputText(int error);

}  // namespace gp
