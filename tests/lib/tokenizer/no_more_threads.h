// NoMoreThreads: for tests; while one exists, this process cannot start a thread.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <system_error>
#include <thread>

namespace gp {

// Works by making the stack of a new thread larger than the address space.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t endless;
    pthread_getattr_default_np(&endless);
    pthread_attr_setstacksize(&endless, size_t{1} << 47);
    pthread_setattr_default_np(&endless);
    pthread_attr_destroy(&endless);
    EXPECT_THROW(std::jthread([] {}), std::system_error);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace gp
