// ByteBudget: limits how many bytes of bodies and answers a server holds, in total and per client.
// A client may hold as much as is still free, so one client alone gets half. Used in the loop.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace gp::http {

class ByteBudget {
 public:
  // This much of each share is counted but never refused, so that small requests always pass.
  static constexpr size_t kAlwaysBytes = 16 << 10;

  explicit ByteBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // The bytes that one request, or one answer, holds. Its destruction gives them back.
  class Share {
   public:
    Share() = default;  // without a budget: everything is granted
    Share(std::shared_ptr<ByteBudget> budget, std::string client);
    ~Share() { Resize(0); }
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;

    // Sets the size of the share. False: the client may not hold that much; nothing has changed.
    bool Resize(size_t bytes);

   private:
    std::shared_ptr<ByteBudget> budget_;
    std::string client_;
    size_t bytes_ = 0;
  };

 private:
  bool Move(const std::string& client, size_t from, size_t to);

  const size_t bytes_max_;
  size_t held_ = 0;
  std::map<std::string, size_t> held_by_;  // clients that hold something
};

}  // namespace gp::http
