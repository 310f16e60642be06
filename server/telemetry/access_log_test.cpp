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
  EXPECT_FALSE(parsed.contains("tier"));
  EXPECT_FALSE(parsed.contains("trace_id"));
}

TEST(AccessLog, TheTierAndTheTraceAreTold) {
  AccessRecord record;
  record.tier = 2;
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const auto parsed = nlohmann::json::parse(FormatAccessRecord(record));
  EXPECT_EQ(parsed["tier"], 2);
  EXPECT_EQ(parsed["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
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

class AccessLogRotation : public testing::Test {
 protected:
  AccessLogRotation() { std::filesystem::create_directories(folder_); }
  ~AccessLogRotation() override { std::filesystem::remove_all(folder_); }

  static void Write(AccessLog& log, const std::string& id) {
    AccessRecord record;
    record.id = id;
    log.Write(record);
  }
  // The ids in a file.
  static std::string Ids(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string ids;
    for (std::string line; std::getline(file, line);) ids += nlohmann::json::parse(line)["id"].get<std::string>();
    return ids;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("access_log_rotation." + std::to_string(getpid()));
  const std::filesystem::path path_ = folder_ / "log";
};

TEST_F(AccessLogRotation, LinesGoToAFileOfTheSameNameOnceItIsReopened) {
  auto log = AccessLog::Open(path_.string());
  ASSERT_TRUE(log.ok()) << log.status();
  Write(**log, "a");
  std::filesystem::rename(path_, folder_ / "log.1");
  Write(**log, "b");
  ASSERT_TRUE((*log)->Reopen().ok());
  Write(**log, "c");
  (*log)->Flush();
  EXPECT_EQ(Ids(folder_ / "log.1"), "ab");
  EXPECT_EQ(Ids(path_), "c");
}

TEST_F(AccessLogRotation, TheFileStaysOpenWhereNoneCanTakeItsPlace) {
  auto log = AccessLog::Open(path_.string());
  ASSERT_TRUE(log.ok()) << log.status();
  std::filesystem::rename(path_, folder_ / "log.1");
  std::filesystem::create_directory(path_);
  EXPECT_FALSE((*log)->Reopen().ok());
  Write(**log, "a");
  (*log)->Flush();
  EXPECT_EQ(Ids(folder_ / "log.1"), "a");
}

TEST(AccessLog, StandardOutputStaysAsItIs) {
  auto log = AccessLog::Open("-");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_TRUE((*log)->Reopen().ok());
}

TEST(AccessLog, AFileThatCannotBeOpenedIsNamed) {
  const auto log = AccessLog::Open("/dev/null/log");
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.status().message().find("/dev/null/log"), std::string::npos);
}

}  // namespace
}  // namespace hearth::server
