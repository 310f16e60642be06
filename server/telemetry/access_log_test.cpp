#include "server/telemetry/access_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hearth::server {
namespace {

TEST(AccessLog, ALineIsJsonWhateverBytesAClientSends) {
  AccessRecord record;
  record.model = "m\"\n\xff";
  record.status = absl::InvalidArgumentError("no input named \xc3\x28");
  record.times.total = std::chrono::microseconds(1500);
  const std::string line = FormatAccessRecord(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(parsed["total_us"], 1500);
}

TEST(AccessLog, RecordsAreAppendedToTheFile) {
  const auto path = std::filesystem::temp_directory_path() / ("access_log_test." + std::to_string(getpid()));
  {
    auto log = AccessLog::Open(path.string());
    ASSERT_TRUE(log.ok()) << log.status();
    for (const char* id : {"a", "b"}) {
      AccessRecord record;
      record.id = id;
      (*log)->Write(record);
    }
    (*log)->Flush();
  }
  std::ifstream file(path);
  std::string first, second, third;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_FALSE(std::getline(file, third));
  EXPECT_EQ(nlohmann::json::parse(first)["id"], "a");
  EXPECT_EQ(nlohmann::json::parse(second)["id"], "b");
  std::filesystem::remove(path);
}

TEST(AccessLog, AFileThatCannotBeOpenedIsNamed) {
  const auto log = AccessLog::Open("/dev/null/log");
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.status().message().find("/dev/null/log"), std::string::npos);
}

}  // namespace
}  // namespace hearth::server
