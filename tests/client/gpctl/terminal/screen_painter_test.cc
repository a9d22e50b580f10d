#include "client/gpctl/terminal/screen_painter.h"

#include <gtest/gtest.h>

#include <sstream>

namespace gp::gpctl {
namespace {

class ScreenPainterTest : public ::testing::Test {
 protected:
  // The bytes that are sent for these rows.
  std::string Paint(const std::vector<std::string>& rows) {
    out_.str("");
    painter_.Paint(rows);
    return out_.str();
  }

  std::ostringstream out_;
  ScreenPainter painter_{out_};
};

TEST_F(ScreenPainterTest, SendsOnlyTheRowsThatHaveChanged) {
  EXPECT_EQ(Paint({"a", "", "c"}),
            "\x1b[0m\x1b[H\x1b[J\x1b[1;1H\x1b[2Ka\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2Kc");
  EXPECT_EQ(Paint({"a", "", "c"}), "");
  EXPECT_EQ(Paint({"a", "b", "c"}), "\x1b[2;1H\x1b[2Kb");
  EXPECT_EQ(Paint({"a"}), "\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2K");
}

TEST_F(ScreenPainterTest, SendsEveryRowAfterForget) {
  Paint({"a", "b"});
  painter_.Forget();
  EXPECT_EQ(Paint({"a"}), "\x1b[0m\x1b[H\x1b[J\x1b[1;1H\x1b[2Ka");
}

}  // namespace
}  // namespace gp::gpctl
