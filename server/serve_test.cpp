// How the daemon's process ends.
#include "server/serve.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/repository/fake_runtime.h"

namespace hearth::server {
namespace {

// The process serves an empty repository; `meanwhile` is called with its runtime's options when it has begun.
void ServeUntilItEnds(const std::function<void(const RuntimeOptions&)>& meanwhile) {
  // Nothing is written there; it is left for the next run, since this process may end at any time.
  const std::string repository = (std::filesystem::temp_directory_path() / "hearth_serve_test_no_models").string();
  std::filesystem::create_directories(repository);
  const std::vector<const char*> arguments = {
      "hearthd", "--model-repository", repository.c_str(), "--grpc-port", "0", "--http-port", "0", "--metrics-port",
      "0"};
  const int status = Serve(static_cast<int>(arguments.size()), arguments.data(), [&](const RuntimeOptions& options) {
    meanwhile(options);
    return std::make_unique<FakeRuntime>();
  });
  // Not reached where the process ends itself.
  _exit(status);
}

class ServeDeathTest : public ::testing::Test {
 protected:
  // A process that has threads already is none to serve from.
  ServeDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ServeDeathTest, ItEndsWithThreeWhereAGpuHasFailed) {
  const auto fail = [](const RuntimeOptions& options) { options.on_device_failure("cuda:1 does nothing any more"); };
  EXPECT_EXIT(ServeUntilItEnds(fail), ::testing::ExitedWithCode(3),
              "a GPU has failed, and this server stops with exit status 3: cuda:1 does nothing any more");
}

TEST_F(ServeDeathTest, ItEndsWithThreeWhereAGpuFailsWhileItDrains) {
  const auto stop_and_fail = [](const RuntimeOptions& options) {
    kill(getpid(), SIGTERM);
    options.on_device_failure("cuda:1 does nothing any more");
  };
  EXPECT_EXIT(ServeUntilItEnds(stop_and_fail), ::testing::ExitedWithCode(3), "a GPU has failed");
}

TEST_F(ServeDeathTest, ItEndsWithZeroWhereItIsAskedToStop) {
  EXPECT_EXIT(ServeUntilItEnds([](const RuntimeOptions&) { kill(getpid(), SIGTERM); }), ::testing::ExitedWithCode(0),
              "stopped");
}

}  // namespace
}  // namespace hearth::server
