// Shifts the wall clock of the C library by GP_CLOCK_SHIFT seconds, which may be negative. Works
// for any program: GP_CLOCK_SHIFT=-7200 LD_PRELOAD=build/release/tests/libgp_shifted_clock.so. The
// monotonic clock is not changed.
#include <dlfcn.h>
#include <sys/time.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t ShiftSeconds() {
  const char* text = std::getenv("GP_CLOCK_SHIFT");
  return text == nullptr ? 0 : std::atol(text);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const time_t shift = ShiftSeconds();
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += shift;
  return result;
}

// OpenSSL checks the dates of certificates with time().
time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* out, void* /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

}  // extern "C"
