#include "tokenizer/parallel_encode.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "lib/tokenizer/no_more_threads.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"

namespace gp {
namespace {

TEST(ParallelEncode, CharactersAreNotCutAndErrorsNameTheirPlaceInTheText) {
  const std::string text = "zebra €é中😀 " + std::string(50, 'z') + "€€€€";
  const auto tokenizer = CharTokenizer::FromText(text);
  ASSERT_TRUE(tokenizer.ok());
  for (const size_t part_bytes : {1, 2, 3, 7}) {
    EXPECT_EQ(*EncodeInParallel(**tokenizer, text, 2, part_bytes), *(*tokenizer)->Encode(text));
  }
  const std::string unknown = text + "?";
  EXPECT_EQ(EncodeInParallel(**tokenizer, unknown, 2, 10).status(),
            (*tokenizer)->Encode(unknown).status());
}

// Throws std::bad_alloc on every thread except the one that created it.
class HungryTokenizer final : public ByteTokenizer {
 public:
  StatusOr<std::vector<int32_t>> Encode(std::string_view text) const override {
    if (std::this_thread::get_id() != maker_) {
      failed_ = true;
      throw std::bad_alloc();
    }
    while (!failed_) std::this_thread::yield();
    return ByteTokenizer::Encode(text);
  }

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  mutable std::atomic<bool> failed_ = false;
};

TEST(ParallelEncode, AnotherThreadsExceptionReachesTheCaller) {
  EXPECT_THROW((void)EncodeInParallel(HungryTokenizer(), "0123456789", 3, 2), std::bad_alloc);
}

TEST(ParallelEncode, ThreadsThatCannotBeStartedAreDoneWithout) {
  const NoMoreThreads none;
  const auto tokens = EncodeInParallel(ByteTokenizer(), "0123456789", 4, 2);
  EXPECT_EQ(*tokens, *ByteTokenizer().Encode("0123456789"));
}

}  // namespace
}  // namespace gp
