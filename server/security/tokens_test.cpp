#include "server/security/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// echo -n secret | openssl dgst -sha256
constexpr const char* kSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
constexpr const char* kOther = "0000000000000000000000000000000000000000000000000000000000000001";

std::string Message(const std::string& text) {
  const auto tokens = Tokens::Parse(text, "tokens");
  EXPECT_EQ(tokens.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(tokens.status().message());
}

TEST(Tokens, ATokenHasTheRolesOfItsLine) {
  const auto tokens =
      Tokens::Parse(absl::StrCat("# a comment\r\n\n infer,read\tweb ", kSecret, "\r\nadmin boss ", kOther), "tokens");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->size(), 2u);
  const Tokens::Holder* holder = tokens->Find("secret");
  ASSERT_NE(holder, nullptr);
  EXPECT_EQ(holder->name, "web");
  EXPECT_TRUE(holder->Has(Role::kInfer) && holder->Has(Role::kRead) && holder->Has(Role::kAnyone));
  EXPECT_FALSE(holder->Has(Role::kAdmin));
  for (const char* none : {"", "Secret", "secret ", kSecret}) EXPECT_EQ(tokens->Find(none), nullptr) << none;
}

TEST(Tokens, WhatIsWrongIsSaidWithItsLineAndWithoutTheToken) {
  EXPECT_THAT(Message(""), HasSubstr("has no token"));
  EXPECT_THAT(Message("# nothing\n"), HasSubstr("has no token"));
  EXPECT_THAT(Message(absl::StrCat("\ninfer web ", kSecret, " more")), HasSubstr("tokens:2: a line has"));
  EXPECT_THAT(Message(absl::StrCat("root web ", kSecret)), HasSubstr("infer, read and admin"));
  EXPECT_THAT(Message(absl::StrCat("infer, web ", kSecret)), HasSubstr("infer, read and admin"));
  EXPECT_THAT(Message(absl::StrCat("infer \x01 ", kSecret)), HasSubstr("printable"));
  EXPECT_THAT(Message(absl::StrCat("infer a ", kSecret, "\nread a ", kOther)), HasSubstr("tokens:2: the name a"));
  EXPECT_THAT(Message(absl::StrCat("infer a ", kSecret, "\nread b ", kSecret)), HasSubstr("token is there already"));
  const std::string plain = Message("infer web my-plain-token");
  EXPECT_THAT(plain, HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(plain, Not(HasSubstr("my-plain-token")));
}

TEST(Tokens, TheirNumberIsBounded) {
  std::string text;
  for (size_t i = 0; i <= Tokens::kMost; ++i)
    absl::StrAppend(&text, "infer n", i, " ", absl::Hex(i, absl::kZeroPad16), std::string(48, 'a'), "\n");
  EXPECT_THAT(Message(text), HasSubstr("4097: there may be 4096 tokens"));
}

}  // namespace
}  // namespace hearth::server
