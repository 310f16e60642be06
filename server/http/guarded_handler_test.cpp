#include "server/http/guarded_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/escaping.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

class Accepts : public HttpHandler {
 public:
  HttpAdmission Admit(const HttpRequest&) override { return {.max_body_bytes = 1}; }
  void Handle(HttpRequest, HttpResponder) override {}
};

std::string HashOf(const std::string& token) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return absl::BytesToHexString(hash);
}

HttpRequest Request(const std::string& method, const std::string& path,
                    std::vector<std::pair<std::string, std::string>> headers = {}) {
  return {.method = method, .path = path, .query = {}, .headers = std::move(headers), .peer = {}, .body = {}};
}

// The status that refuses it; 0 if it may be.
int StatusOf(HttpHandler& handler, const HttpRequest& request) {
  const HttpAdmission admission = handler.Admit(request);
  EXPECT_EQ(admission.max_body_bytes, admission.refusal ? 0 : 1);
  return admission.refusal ? admission.refusal->status : 0;
}

TEST(GuardedHandler, TheTokenOfARouteIsAskedForBeforeItsBody) {
  const std::string file = testing::TempDir() + "/guarded_handler_test." + std::to_string(getpid());
  std::ofstream(file) << "infer client " << HashOf("c") << "\nread,admin boss " << HashOf("b") << "\n";
  const auto access = AccessControl::Create({.administration = Administration::kToken, .token_file = file});
  ASSERT_TRUE(access.ok()) << access.status();
  const auto handler = MakeGuardedHandler(std::make_shared<Accepts>(), **access);
  const auto with = [](const std::string& value) {
    return std::vector<std::pair<std::string, std::string>>{{"authorization", value}};
  };
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/v2/health/ready")), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/metrics")), 401);
  EXPECT_EQ(StatusOf(*handler, Request("HEAD", "/metrics")), 401);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/metrics", with("Bearer b"))), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/metrics", with("Bearer c"))), 403);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/metrics", with("Basic Yg=="))), 401);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/models/m/infer", with("bearer c"))), 0);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/models/m/infer", with("Bearer b"))), 403);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/repository/models/m/load", with("Bearer b"))), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/nothing", with("Bearer b"))), 404);
  EXPECT_EQ(StatusOf(*handler, Request("DELETE", "/metrics", with("Bearer b"))), 404);
  const HttpResponse refusal = *handler->Admit(Request("GET", "/v2")).refusal;
  ASSERT_EQ(refusal.headers.size(), 1);
  EXPECT_EQ(refusal.headers.at(0).first, "WWW-Authenticate");
  EXPECT_THAT(refusal.headers.at(0).second, HasSubstr("Bearer"));

  // A browser shows a token as a password ("me:b"), for the status page alone.
  EXPECT_EQ(handler->Admit(Request("GET", "/status")).refusal->headers.size(), 2);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/status", with("Basic bWU6Yg=="))), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/status/style.css", with("Basic bWU6Yg=="))), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/status", with("Basic bWU6eA=="))), 401);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/status", with("Basic ???"))), 401);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/v2", with("Basic bWU6Yg=="))), 401);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/repository/models/m/load", with("Basic bWU6Yg=="))), 401);
  unlink(file.c_str());
}

TEST(GuardedHandler, WithoutTokensAWebPageCannotAdminister) {
  const auto access = AccessControl::Create({});
  const auto handler = MakeGuardedHandler(std::make_shared<Accepts>(), **access);
  const std::string load = "/v2/repository/models/m/load";
  EXPECT_EQ(StatusOf(*handler, Request("POST", load)), 0);
  EXPECT_EQ(StatusOf(*handler, Request("POST", load, {{"origin", "http://elsewhere"}})), 403);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/models/m/infer", {{"origin", "http://elsewhere"}})), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/what/the/handler/says")), 0);
}

TEST(GuardedHandler, AdministrationMayBeOff) {
  const auto access = AccessControl::Create({.administration = Administration::kOff, .token_file = ""});
  const auto handler = MakeGuardedHandler(std::make_shared<Accepts>(), **access);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/repository/models/m/load")), 403);
  EXPECT_EQ(StatusOf(*handler, Request("POST", "/v2/models/m/infer")), 0);
  EXPECT_EQ(StatusOf(*handler, Request("GET", "/metrics")), 0);
}

}  // namespace
}  // namespace hearth::server
