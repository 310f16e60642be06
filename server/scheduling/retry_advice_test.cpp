#include "server/scheduling/retry_advice.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/cord.h"

namespace hearth::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

milliseconds After(std::chrono::nanoseconds delay) {
  return RetryAfterOf(WithRetryAfter(absl::ResourceExhaustedError("full"), delay)).value();
}

TEST(RetryAdvice, IsWholeMillisecondsFromOneToAMinute) {
  EXPECT_EQ(After(milliseconds(0)), milliseconds(1));
  EXPECT_EQ(After(microseconds(1500)), milliseconds(2));
  EXPECT_EQ(After(std::chrono::hours(1)), milliseconds(60'000));
}

TEST(RetryAdvice, StatusesWithoutItHaveNone) {
  EXPECT_FALSE(RetryAfterOf(absl::ResourceExhaustedError("full")).has_value());
  EXPECT_FALSE(RetryAfterOf(absl::OkStatus()).has_value());
}

TEST(RetryAdvice, IsGooglesRetryInfo) {
  const absl::Status status = WithRetryAfter(absl::ResourceExhaustedError("full"), milliseconds(1500));
  // Field 1, a Duration of 1 second and 500,000,000 nanoseconds.
  EXPECT_EQ(std::string(*status.GetPayload("type.googleapis.com/google.rpc.RetryInfo")),
            std::string("\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01", 10));
}

}  // namespace
}  // namespace hearth::server
