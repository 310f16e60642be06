#include "server/status/status_handler.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "server/repository/fake_runtime.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

class NothingElse : public HttpHandler {
 public:
  HttpAdmission Admit(const HttpRequest&) override { return {.refusal = HttpResponse{.status = 404}}; }
  void Handle(HttpRequest, HttpResponder) override {}
};

// A connection on which a page was asked for.
class Asking {
 public:
  Asking(int port, const std::string& path) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(send(socket_, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { close(socket_); }

  std::string Answer() const {
    std::string text;
    char buffer[4096];
    for (ssize_t size; (size = recv(socket_, buffer, sizeof(buffer), 0)) > 0;) text.append(buffer, size);
    return text;
  }

 private:
  int socket_;
};

class StatusHandlerTest : public ::testing::Test {
 protected:
  FakeRuntime runtime_;
  Repository repository_{{}, runtime_, nullptr, [] {}};
  Readiness readiness_;
  RecentErrors errors_;
  Gate gate_;  // of what a page is made of
  ServerStatus status_{{repository_, readiness_, runtime_, errors_,
                        [this] {
                          gate_.Pass();
                          return std::vector<ModelSample>();
                        },
                        [] { return CompilerSample(); }, "name", "cpu"}};
  std::unique_ptr<HttpServer> server_ =
      *HttpServer::Start({.port = 0}, std::make_shared<StatusHandler>(status_, std::make_shared<NothingElse>()));
};

TEST_F(StatusHandlerTest, RequestsThatWaitAreBounded) {
  gate_.Shut();
  std::vector<std::unique_ptr<Asking>> waiting;
  for (int i = 0; i < StatusHandler::kMostWaiting; ++i) {
    waiting.push_back(std::make_unique<Asking>(server_->port(), "/status"));
    // What is answered on the connections' own thread has come after it.
    EXPECT_THAT(Asking(server_->port(), "/status/style.css").Answer(), HasSubstr("200"));
  }
  EXPECT_THAT(Asking(server_->port(), "/status").Answer(), HasSubstr("503"));
  gate_.Open();
  for (const auto& each : waiting) EXPECT_THAT(each->Answer(), HasSubstr("</html>"));
  EXPECT_THAT(Asking(server_->port(), "/status").Answer(), HasSubstr("</html>"));
}

TEST_F(StatusHandlerTest, OtherPathsAreTheOtherHandlers) {
  for (const char* path : {"/v2", "/status/other", "/statuses", "/status/models/m", "/status/models/m/versions/1/x"}) {
    EXPECT_THAT(Asking(server_->port(), path).Answer(), HasSubstr("404")) << path;
  }
  EXPECT_THAT(Asking(server_->port(), "/").Answer(), HasSubstr("Location: /status"));
}

TEST(ServerStatus, GpusAreToldAsTheyAreRead) {
  FakeRuntime runtime;
  Repository repository({}, runtime, nullptr, [] {});
  Readiness readiness;
  RecentErrors errors;
  const auto read = [] {
    GpuReading reading;
    reading.gpus.resize(2);
    reading.lost = 1;
    reading.gpus[0].uuid = "GPU-1";
    reading.gpus[1].uuid = "GPU-2";
    reading.gpus[0].name = "one";
    reading.gpus[0].utilization = 0.5;
    reading.gpus[0].memory_used = 600;
    reading.gpus[0].memory_total = 1000;
    reading.gpus[0].temperature = 61;
    return reading;
  };
  const auto describe = [&](std::function<GpuReading()> gpus) {
    const ServerStatus status({repository, readiness, runtime, errors, [] { return std::vector<ModelSample>(); },
                               [] { return CompilerSample(); }, "name", "cuda", std::move(gpus)});
    return status.Describe();
  };
  const v1::ServerStatusResponse told = describe(read);
  ASSERT_EQ(told.gpus_size(), 2);
  EXPECT_EQ(told.gpus_lost(), 1u);
  EXPECT_EQ(told.gpus(0).name(), "one");
  EXPECT_EQ(told.gpus(0).utilization(), 0.5);
  EXPECT_EQ(told.gpus(0).memory_used_bytes(), 600u);
  EXPECT_EQ(told.gpus(0).memory_total_bytes(), 1000u);
  EXPECT_EQ(told.gpus(0).temperature_celsius(), 61);
  EXPECT_FALSE(told.gpus(0).has_power_watts());
  EXPECT_EQ(told.gpus(1).uuid(), "GPU-2");
  EXPECT_FALSE(told.gpus(1).has_memory_used_bytes());
  EXPECT_EQ(describe(nullptr).gpus_size(), 0);
}

TEST(ServerStatus, PlansAndTheirGraphsAreBounded) {
  v1::ListPlansResponse plans;
  for (int i = 0; i < 3 * ServerStatus::kMostPlans; ++i) {
    v1::Plan& plan = *plans.add_plans();
    plan.set_calls(static_cast<uint64_t>(i));
    plan.set_graph(std::string(ServerStatus::kMostGraphBytes / 8, 'g'));
    plan.add_kernels()->set_code(std::string(ServerStatus::kMostGraphBytes / 8 - 16, 'k'));
  }
  KeepWithinBounds(plans);
  ASSERT_EQ(plans.plans_size(), ServerStatus::kMostPlans);
  EXPECT_EQ(plans.plans(0).calls(), 3 * ServerStatus::kMostPlans - 1);
  for (int i = 0; i < ServerStatus::kMostPlans; ++i) {
    EXPECT_EQ(plans.plans(i).graph().empty(), i >= 4) << i;
    EXPECT_EQ(plans.plans(i).kernels().empty(), i >= 4) << i;
  }
}

}  // namespace
}  // namespace hearth::server
