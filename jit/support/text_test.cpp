#include "jit/support/text.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(TextTest, WellFormedTextIsUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f"));
  EXPECT_FALSE(IsUtf8("\xff"));
  EXPECT_FALSE(IsUtf8("\xc3")) << "cut off";
  EXPECT_FALSE(IsUtf8("\xc0\x80")) << "overlong";
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80")) << "beyond Unicode";
}

TEST(TextTest, WhatIsNoUtf8IsReplacedByteByByte) {
  EXPECT_EQ(ToUtf8("a\xc3\xa4"), "a\xc3\xa4");
  EXPECT_EQ(ToUtf8("a\xff\xc3z"), "a\xef\xbf\xbd\xef\xbf\xbdz");
}

TEST(TextTest, ALogGetsNoControlCharacters) {
  EXPECT_EQ(ForLog("a\xc3\xa4\tb", 100), "a\xc3\xa4\tb");
  EXPECT_EQ(ForLog("\x1b[2J\r\x07\xc2\x9b\x7f\xff", 100), "\\x1b[2J\\x0d\\x07\\xc2\\x9b\\x7f\\xff");
}

TEST(TextTest, NoTextLooksLikeALineOfTheLogsOwn) {
  EXPECT_EQ(ForLog("one\n2026-01-01T00:00:00.000+0000 E forged: line", 100),
            "one\n  | 2026-01-01T00:00:00.000+0000 E forged: line");
}

TEST(TextTest, ALogGetsNoMoreThanItsShare) {
  EXPECT_EQ(ForLog("0123456789", 4), "0123... (6 bytes more)");
  EXPECT_EQ(ForLog("0123456789", 10), "0123456789");
}

}  // namespace
}  // namespace hearth
