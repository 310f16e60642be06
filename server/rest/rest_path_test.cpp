#include "server/rest/rest_path.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

TEST(RestPath, PathsAreTritons) {
  const auto expect = [](const char* path, Resource resource, const char* model = "", const char* version = "",
                         const char* region = "") {
    const auto parsed = ParseRestPath(path);
    ASSERT_TRUE(parsed.has_value()) << path;
    EXPECT_EQ(parsed->resource, resource) << path;
    EXPECT_EQ(parsed->model, model) << path;
    EXPECT_EQ(parsed->version, version) << path;
    EXPECT_EQ(parsed->region, region) << path;
  };
  expect("/v2", Resource::kServerMetadata);
  expect("/v2/", Resource::kServerMetadata);
  expect("/v2/health/live", Resource::kServerLive);
  expect("/v2/health/ready", Resource::kServerReady);
  expect("/v2/models/stats", Resource::kAllStatistics);
  expect("/v2/models/m", Resource::kModelMetadata, "m");
  expect("/v2/models/m/versions/12", Resource::kModelMetadata, "m", "12");
  expect("/v2/models/stats/stats", Resource::kModelStatistics, "stats");
  expect("/v2/models/a b/versions/1/infer", Resource::kInfer, "a b", "1");
  expect("/v2/models/m/versions/stable.1/infer", Resource::kInfer, "m", "stable.1");
  expect("/v2/models/m/infer", Resource::kInfer, "m");
  expect("/v2/models/m/ready", Resource::kModelReady, "m");
  expect("/v2/models/m/config", Resource::kModelConfig, "m");
  expect("/v2/models/m/trace/setting", Resource::kModelTrace, "m");
  expect("/v2/trace/setting", Resource::kTrace);
  expect("/v2/logging", Resource::kLogging);
  expect("/v2/repository/index", Resource::kRepositoryIndex);
  expect("/v2/repository/models/m/load", Resource::kRepositoryLoad, "m");
  expect("/v2/repository/models/m/unload", Resource::kRepositoryUnload, "m");
  expect("/v2/systemsharedmemory/status", Resource::kSystemMemoryStatus);
  expect("/v2/systemsharedmemory/region/r/status", Resource::kSystemMemoryStatus, "", "", "r");
  expect("/v2/systemsharedmemory/region/r/register", Resource::kSystemMemoryRegister, "", "", "r");
  expect("/v2/systemsharedmemory/unregister", Resource::kSystemMemoryUnregister);
  expect("/v2/cudasharedmemory/region/r/unregister", Resource::kCudaMemoryUnregister, "", "", "r");
}

TEST(RestPath, OtherPathsAreNone) {
  for (const char* path :
       {"", "/", "v2", "/v1", "/v2/models", "/v2/models/", "/v2/models//ready", "/v2/models/m/",
        "/v2/models/m/versions/-x", "/v2/models/m/versions//infer", "/v2/models/m/versions/1/trace/setting",
        "/v2/models/m/infer/x", "/v2/health", "/v2//health/live", "/v2/systemsharedmemory/register"}) {
    EXPECT_FALSE(ParseRestPath(path).has_value()) << path;
  }
}

TEST(RestPath, EachResourceTakesItsMethods) {
  EXPECT_TRUE(Allows(Resource::kModelMetadata, "HEAD"));
  EXPECT_FALSE(Allows(Resource::kModelMetadata, "POST"));
  EXPECT_TRUE(Allows(Resource::kInfer, "POST"));
  EXPECT_FALSE(Allows(Resource::kInfer, "GET"));
  EXPECT_TRUE(Allows(Resource::kLogging, "GET") && Allows(Resource::kLogging, "POST"));
  EXPECT_FALSE(Allows(Resource::kLogging, "PUT"));
  EXPECT_STREQ(AllowedMethods(Resource::kTrace), "GET, HEAD, POST");
}

}  // namespace
}  // namespace hearth::server
