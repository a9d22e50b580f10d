#include "base/standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <ext/stdio_sync_filebuf.h>
#include <iostream>

#include "base/check.h"
#include "base/exit_code.h"

namespace gp {
namespace {

// A closed descriptor gets a file on which reading (0) or writing (1, 2) fails.
void FillClosedDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is `descriptor`.
    [[maybe_unused]] const int opened =
        open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

std::FILE* OpenStream(StandardOutput* self, cookie_write_function_t* write) {
  FillClosedDescriptors();
  std::FILE* stream = fopencookie(self, "w", {.write = write});
  GP_CHECK(stream != nullptr, "fopencookie: errno {}", errno);
  return stream;
}

}  // namespace

StandardOutput::StandardOutput(int descriptor)
    : descriptor_(descriptor),
      stream_(OpenStream(this, &StandardOutput::Write)),
      previous_stream_(stdout),
      buffer_(std::make_unique<__gnu_cxx::stdio_sync_filebuf<char>>(stream_)),
      previous_buffer_(std::cout.rdbuf()) {
  setvbuf(stream_, nullptr, isatty(descriptor) == 1 ? _IOLBF : _IOFBF, BUFSIZ);
  stdout = stream_;
  std::cout.rdbuf(buffer_.get());
}

StandardOutput::~StandardOutput() {
  Flush();
  std::cout.rdbuf(previous_buffer_);
  stdout = previous_stream_;
  std::fclose(stream_);
}

ssize_t StandardOutput::Write(void* self, const char* data, size_t size) {
  auto& output = *static_cast<StandardOutput*>(self);
  size_t written = 0;
  while (written < size && output.error_ == 0) {
    const ssize_t count = write(output.descriptor_, data + written, size - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd writable{output.descriptor_, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      output.error_ = errno;
    }
  }
  return static_cast<ssize_t>(output.error_ == 0 ? size : 0);
}

int StandardOutput::Flush() {
  std::cout.flush();
  std::fflush(stream_);
  return error_;
}

int StandardOutput::Finish(const std::string& program, int code, std::ostream& err) {
  const int error = Flush();
  if (error == 0) return code;
  const std::string message = LostOutputText(error);
  if (!message.empty()) err << program << ": " << message << std::endl;
  return code == 0 ? ProcessStatus(ExitCode::kFailure) : code;
}

int StandardOutput::Finish(const std::string& program, int code) {
  return Finish(program, code, std::cerr);
}

std::string LostOutputText(int error) {
  if (error == EPIPE) return "";
  return fmt::format("cannot write to standard output: {}", std::strerror(error));
}

}  // namespace gp
