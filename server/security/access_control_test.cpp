#include "server/security/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "jit/support/logging.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTokenLine = "infer web 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n";

class AccessControlTest : public testing::Test {
 protected:
  ~AccessControlTest() override { unlink(file_.c_str()); }

  void Write(const std::string& text) const { std::ofstream(file_) << text; }

  static absl::StatusCode Code(AccessControl& access, std::optional<Role> role,
                               std::optional<std::string_view> authorization) {
    return access.Check(role, authorization, "what", "who").code();
  }

  const std::string file_ = testing::TempDir() + "/access_control_test." + std::to_string(getpid());
};

TEST_F(AccessControlTest, WithoutTokensEverythingIsOpenExceptAdministrationWhereItIsOff) {
  const auto open = AccessControl::Create({});
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE((*open)->open());
  for (const Role role : {Role::kAnyone, Role::kInfer, Role::kRead, Role::kAdmin}) {
    EXPECT_EQ(Code(**open, role, std::nullopt), absl::StatusCode::kOk);
  }
  const auto off = AccessControl::Create({.administration = Administration::kOff, .token_file = ""});
  EXPECT_FALSE((*off)->open());
  EXPECT_EQ(Code(**off, Role::kInfer, std::nullopt), absl::StatusCode::kOk);
  EXPECT_EQ(Code(**off, Role::kAdmin, "Bearer secret"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Code(**off, std::nullopt, std::nullopt), absl::StatusCode::kUnimplemented);
  const auto none = AccessControl::Create({.administration = Administration::kToken, .token_file = ""});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AccessControlTest, EachRoleNeedsATokenThatHasIt) {
  Write(kTokenLine);
  const auto made = AccessControl::Create({.administration = Administration::kOn, .token_file = file_});
  ASSERT_TRUE(made.ok()) << made.status();
  AccessControl& access = **made;
  EXPECT_EQ(Code(access, Role::kAnyone, std::nullopt), absl::StatusCode::kOk);
  EXPECT_EQ(Code(access, Role::kInfer, std::nullopt), absl::StatusCode::kUnauthenticated);
  for (const char* wrong : {"", "secret", "Basic secret", "Bearer", "Bearer ", "Bearer other", "Bearersecret"}) {
    EXPECT_EQ(Code(access, Role::kInfer, wrong), absl::StatusCode::kUnauthenticated) << wrong;
  }
  for (const char* right : {"Bearer secret", "bearer secret", "BEARER   secret"}) {
    EXPECT_EQ(Code(access, Role::kInfer, right), absl::StatusCode::kOk) << right;
  }
  EXPECT_EQ(Code(access, Role::kRead, "Bearer secret"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Code(access, Role::kAdmin, "Bearer secret"), absl::StatusCode::kPermissionDenied);
}

TEST_F(AccessControlTest, ANewFileCountsAndAWrongOneDoesNot) {
  EXPECT_EQ(AccessControl::Create({.administration = Administration::kOn, .token_file = file_}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  Write(kTokenLine);
  const auto made = AccessControl::Create({.administration = Administration::kOn, .token_file = file_});
  AccessControl& access = **made;
  Write("nonsense\n");
  access.Reload();
  EXPECT_EQ(Code(access, Role::kInfer, "Bearer secret"), absl::StatusCode::kOk);
  Write("read web 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n");
  access.Reload();
  EXPECT_EQ(Code(access, Role::kInfer, "Bearer secret"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Code(access, Role::kRead, "Bearer secret"), absl::StatusCode::kOk);
}

TEST_F(AccessControlTest, RefusalsAreLoggedOneASecondAndWithoutTheToken) {
  std::ostringstream lines;
  SetLogSink(std::make_shared<spdlog::sinks::ostream_sink_mt>(lines));
  Write(kTokenLine);
  const auto made = AccessControl::Create({.administration = Administration::kOn, .token_file = file_});
  for (int i = 0; i < 1000; ++i) {
    (void)(*made)->Check(Role::kInfer, "Bearer hunter2", "/a\nforged", "ipv4:1.2.3.4:5");
  }
  SetLogSink(nullptr);
  const std::string text = lines.str();
  EXPECT_THAT(text, HasSubstr("from ipv4:1.2.3.4:5"));
  EXPECT_THAT(text, Not(HasSubstr("hunter2")));
  EXPECT_LT(std::ranges::count(text, '\n'), 20);
}

}  // namespace
}  // namespace hearth::server
