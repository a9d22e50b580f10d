#include "http/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace gp::http {
namespace {

std::string Number(auto value) {
  std::string out;
  AppendJsonNumber(value, out);
  return out;
}

TEST(JsonText, EveryByteOfAsciiComesBack) {
  std::string text;
  for (char c = 0; c >= 0 && c < 127; ++c) text += c;
  EXPECT_EQ(nlohmann::json::parse(JsonString(text)).get<std::string>(), text);
  EXPECT_EQ(JsonString("a\"\\\n\r\t\x01"), R"("a\"\\\n\r\t\u0001")");
}

TEST(JsonText, Utf8IsKeptAndWhatIsNotIsReplaced) {
  EXPECT_EQ(JsonString("d\u00e9mo \U0001f600"), "\"d\u00e9mo \U0001f600\"");
  EXPECT_EQ(JsonString("a\xff"
                       "b"),
            "\"a\ufffdb\"");
  EXPECT_EQ(JsonString("a\xe2\x82"), "\"a\ufffd\"") << "a character that is cut short";
}

TEST(JsonText, ANumberReadsBackAsTheSame) {
  for (const double value : {0.1, -2.5e-9, 1e300, 16777217.0, std::nextafter(1.0, 2.0)}) {
    EXPECT_EQ(std::stod(Number(value)), value);
  }
  EXPECT_EQ(Number(0.1), "0.1");
  EXPECT_EQ(Number(int64_t{INT64_MIN}), "-9223372036854775808");
}

TEST(JsonText, NumbersThatAreNotFiniteAreWrittenAsOpenAisServersDo) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Number(std::nan("")), "null");
  EXPECT_EQ(Number(kInfinity), "9999");
  EXPECT_EQ(Number(-kInfinity), "-9999");
}

}  // namespace
}  // namespace gp::http
