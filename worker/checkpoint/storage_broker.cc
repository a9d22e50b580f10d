#include "worker/checkpoint/storage_broker.h"

#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/local_message.h"
#include "base/machine/parent_process.h"
#include "base/mutex.h"
#include "storage/local_storage.h"

namespace gp::engine {
namespace {

// The largest message carries a manifest.
constexpr size_t kMessageBytesMax = 64 << 10;

enum class Operation : char {
  kMakeDirectory = 'd',
  kCreate = 'c',
  kPut = 'w',
  kPutIfAbsent = 'a',
  kOpen = 'o',
  kDelete = 'r',
};

struct Answer {
  Status status;
  FileDescriptor file;
};

// A request: one byte for the operation, the path, a zero byte, and the data to write.
std::string FormatRequest(Operation operation, const std::string& path, std::string_view data) {
  std::string request(1, static_cast<char>(operation));
  request += path;
  request += '\0';
  request += data;
  return request;
}

// Sends the status code as one byte, the status message, and the open file if there is one.
bool SendAnswer(const FileDescriptor& socket, const Answer& answer) {
  const std::string text = static_cast<char>(answer.status.code()) +
                           Message(answer.status).substr(0, kMessageBytesMax - 1);
  return SendLocalMessage(socket.get(), text, answer.file.get());
}

Answer AnswerWith(StatusOr<FileDescriptor> file) {
  if (!file.ok()) return {file.status(), {}};
  return {OkStatus(), *std::move(file)};
}

Answer Do(std::string_view request) {
  const size_t end = request.find('\0', 1);
  if (end == std::string_view::npos) return {InvalidArgument("a request without a path"), {}};
  const std::string path(request.substr(1, end - 1));
  const LocalStorage storage;
  switch (static_cast<Operation>(request.front())) {
    case Operation::kMakeDirectory:
      return {storage.MakeDirectory(path), {}};
    case Operation::kCreate:
      return AnswerWith(CreateFile(path));
    case Operation::kPut:
      return {storage.Put(path, request.substr(end + 1)), {}};
    case Operation::kPutIfAbsent:
      return {storage.PutIfAbsent(path, request.substr(end + 1)), {}};
    case Operation::kOpen:
      return AnswerWith(OpenToRead(path));
    case Operation::kDelete:
      return {storage.Delete(path), {}};
  }
  return {InvalidArgument("there is no storage operation {}", request.front()), {}};
}

// Runs in the child process of one operation.
[[noreturn]] void AnswerConfined(const FileDescriptor& socket, std::string_view request,
                                 const std::function<Status()>& confine) {
  const Status confined = confine();
  const bool sent = SendAnswer(socket, confined.ok() ? Do(request) : Answer{confined, {}});
  _exit(sent ? 0 : 1);
}

// True when the child has answered.
bool DoInChild(const FileDescriptor& socket, std::string_view request,
               const std::function<Status()>& confine) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (!DieWithParent(parent)) _exit(1);
    AnswerConfined(socket, request, confine);
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Closes every descriptor except the standard ones and `kept`. With a copy of the trainer's link
// here, the agent would not notice that the trainer has ended.
void CloseOthers(int kept) {
  const auto number = static_cast<unsigned>(kept);
  if (kept > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, number - 1, 0);
  close_range(number + 1, ~0u, 0);
}

[[noreturn]] void Serve(const FileDescriptor& socket, const std::function<Status()>& confine) {
  CloseOthers(socket.get());
  prctl(PR_SET_NAME,
        "gp-broker");  // shown by ps, so that the broker can be told apart from its trainer
  while (const auto request = ReceiveLocalMessage(socket.get(), kMessageBytesMax)) {
    if (DoInChild(socket, request->bytes, confine)) continue;
    SendAnswer(socket, {Unavailable("the child of the storage broker ended"), {}});
  }
  _exit(0);
}

// A path that names an open file, for functions that take a path.
std::string NameOf(const FileDescriptor& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

class BrokeredStorage final : public Storage {
 public:
  explicit BrokeredStorage(FileDescriptor socket) : socket_(std::move(socket)) {}

  Status MakeDirectory(const std::string& directory) const override {
    return Ask(Operation::kMakeDirectory, directory).status;
  }

  StatusOr<std::unique_ptr<StorageWriter>> Create(const std::string& path) const override {
    Answer answer = Ask(Operation::kCreate, path);
    RETURN_IF_ERROR(answer.status);
    return WriterOf(std::move(answer.file), path);
  }

  Status Put(const std::string& path, std::string_view data) const override {
    return Ask(Operation::kPut, path, data).status;
  }

  Status PutIfAbsent(const std::string& path, std::string_view data) const override {
    return Ask(Operation::kPutIfAbsent, path, data).status;
  }

  StatusOr<std::string> Get(const std::string& path, uint64_t size_bytes_max) const override {
    std::string text;
    RETURN_IF_ERROR(Stream(path, [&](std::string_view piece) {
      text += piece;
      if (text.size() <= size_bytes_max) return OkStatus();
      return ResourceExhausted("{} has more than {} bytes", path, size_bytes_max);
    }));
    return text;
  }

  Status Stream(const std::string& path,
                const std::function<Status(std::string_view)>& consume) const override {
    const Answer answer = Ask(Operation::kOpen, path);
    RETURN_IF_ERROR(answer.status);
    return StreamFile(answer.file, path, consume);
  }

  StatusOr<uint64_t> Size(const std::string& path) const override {
    const Answer answer = Ask(Operation::kOpen, path);
    RETURN_IF_ERROR(answer.status);
    auto size = LocalStorage().Size(NameOf(answer.file));
    if (size.ok()) return size;
    return WithContext(size.status(), path);
  }

  StatusOr<std::vector<std::string>> List(const std::string& directory) const override {
    const Answer answer = Ask(Operation::kOpen, directory);
    RETURN_IF_ERROR(answer.status);
    auto names = LocalStorage().List(NameOf(answer.file));
    if (names.ok()) return names;
    return WithContext(names.status(), directory);
  }

  Status Delete(const std::string& path) const override {
    return Ask(Operation::kDelete, path).status;
  }

  // Does not ask the broker: a confined process may do this itself.
  StatusOr<uint64_t> FreeBytes(const std::string& path) const override {
    return gp::FreeBytes(path);
  }

 private:
  Answer Ask(Operation operation, const std::string& path, std::string_view data = "") const
      EXCLUDES(mutex_) {
    const std::string request = FormatRequest(operation, path, data);
    if (request.size() > kMessageBytesMax) {
      return {ResourceExhausted("{}: the storage broker takes {} bytes, it would get {}", path,
                                kMessageBytesMax, request.size()),
              {}};
    }
    MutexLock lock(mutex_);
    std::optional<LocalMessage> answer;
    if (SendLocalMessage(socket_.get(), request)) {
      answer = ReceiveLocalMessage(socket_.get(), kMessageBytesMax);
    }
    if (!answer) return {Unavailable("{}: the storage broker of this process is gone", path), {}};
    return {Status(static_cast<StatusCode>(answer->bytes.front()), answer->bytes.substr(1)),
            std::move(answer->file)};
  }

  mutable Mutex mutex_;  // one operation at a time
  const FileDescriptor socket_;
};

}  // namespace

StatusOr<std::shared_ptr<const Storage>> StartStorageBroker(
    const std::function<Status()>& confine) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "make", "the socket of the storage broker");
  }
  FileDescriptor mine(ends[0]);
  const FileDescriptor its(ends[1]);
  const pid_t parent = getpid();
  const pid_t broker = fork();
  if (broker < 0) return ErrnoStatus(errno, "fork", "the storage broker");
  if (broker == 0) {
    if (!DieWithParent(parent)) _exit(0);
    Serve(its, confine);
  }
  return std::make_shared<BrokeredStorage>(std::move(mine));
}

}  // namespace gp::engine
