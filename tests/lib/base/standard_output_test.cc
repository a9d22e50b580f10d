#include "base/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

struct Ending {
  int code = 0;
  std::string message;
};

// Acts as a program that prints `text` to `descriptor` with both std::cout and printf; returns its
// exit code and error message.
Ending PrintTo(int descriptor, const std::string& text, int code = 0) {
  StandardOutput output(descriptor);
  std::cout << text;
  std::printf("%s", text.c_str());
  std::ostringstream err;
  const int end = output.Finish("gp-program", code, err);
  return {end, err.str()};
}

// The write end of a pipe whose read end is closed.
FileDescriptor ClosedPipe() {
  signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  return FileDescriptor(ends[1]);
}

TEST(StandardOutput, KeepsTheOrderOfBothWaysToPrint) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("out");
  {
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT, 0600));
    StandardOutput output(file.get());
    std::cout << "one ";
    std::printf("two ");
    std::cout << "three\n";
    EXPECT_EQ(output.Flush(), 0);
  }
  EXPECT_EQ(*ReadFile(path), "one two three\n");
}

TEST(StandardOutput, AFullDeviceIsAnErrorWithItsReason) {
  const FileDescriptor full(open("/dev/full", O_WRONLY));
  for (const size_t size : {size_t{1}, size_t{100'000}}) {
    const Ending ending = PrintTo(full.get(), std::string(size, 'x'));
    EXPECT_EQ(ending.code, 1);
    EXPECT_EQ(ending.message,
              "gp-program: cannot write to standard output: No space left on device\n");
  }
  EXPECT_EQ(PrintTo(full.get(), "x", 7).code, 7);
}

TEST(StandardOutput, AReaderThatClosesThePipeIsNotAMessage) {
  const FileDescriptor closed = ClosedPipe();
  for (const size_t size : {size_t{1}, size_t{100'000}}) {
    const Ending ending = PrintTo(closed.get(), std::string(size, 'x'));
    EXPECT_EQ(ending.code, 1);
    EXPECT_EQ(ending.message, "");
  }
}

TEST(StandardOutput, APipeThatDoesNotBlockLosesNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  std::string got;
  std::thread reading([&] {
    std::array<char, 4096> piece{};
    for (pollfd readable{ends[0], POLLIN, 0}; poll(&readable, 1, -1) == 1;) {
      const ssize_t count = read(ends[0], piece.data(), piece.size());
      if (count <= 0) return;
      got.append(piece.data(), static_cast<size_t>(count));
    }
  });
  EXPECT_EQ(PrintTo(writer.get(), std::string(200'000, 'x')).code, 0);
  writer.Close();
  reading.join();
  EXPECT_EQ(got.size(), 400'000U);
}

TEST(StandardOutput, ADescriptorThatIsClosedIsAnErrorOnlyWhenSomethingIsPrinted) {
  FileDescriptor file(open("/dev/null", O_WRONLY));
  const int number = file.get();
  file.Close();
  EXPECT_EQ(PrintTo(number, "").code, 0);
  EXPECT_EQ(PrintTo(number, "x").message,
            "gp-program: cannot write to standard output: Bad file descriptor\n");
}

}  // namespace
}  // namespace gp
