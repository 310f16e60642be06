#include "server/storage/storage_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

std::string RemoteOf(std::string_view url) { return RcloneRemote(url).value_or("none"); }

TEST(StorageUrl, FoldersAreNone) {
  for (const char* text : {"/srv/models", "models", "", "://x", "a b://x"}) EXPECT_FALSE(IsStorageUrl(text)) << text;
  for (const char* text : {"s3://b", "gs://b/p", "ftp://x", "s3://"}) EXPECT_TRUE(IsStorageUrl(text)) << text;
}

TEST(StorageUrl, EachWayToNameAPlaceIsKnown) {
  EXPECT_EQ(RemoteOf("s3://bucket"), ":s3,env_auth=true,provider=AWS:bucket");
  EXPECT_EQ(RemoteOf("s3://bucket/some/path/"), ":s3,env_auth=true,provider=AWS:bucket/some/path");
  EXPECT_EQ(RemoteOf("s3://host.name:9000/bucket/path"),
            ":s3,env_auth=true,provider=Other,endpoint='http://host.name:9000':bucket/path");
  EXPECT_EQ(RemoteOf("s3://http://127.0.0.1:9000/bucket"),
            ":s3,env_auth=true,provider=Other,endpoint='http://127.0.0.1:9000':bucket");
  EXPECT_EQ(RemoteOf("s3://https://minio/bucket/path"),
            ":s3,env_auth=true,provider=Other,endpoint='https://minio':bucket/path");
  EXPECT_EQ(RemoteOf("gs://bucket/path"), ":gcs:bucket/path");
}

TEST(StorageUrl, WhatIsNoneIsRefusedWithWhatIsExpected) {
  for (const char* url : {"s3://", "gs://", "gs:///path", "s3://host:port/bucket", "s3://host:9000", "s3://https://",
                          "s3://bucket/a/../b", "s3://bucket//a", "s3://buck'et/a", "s3://b,x=y:z/a", "ftp://bucket",
                          "s3://bucket/a\nb", "gs://host:1/bucket"}) {
    const auto remote = RcloneRemote(url);
    EXPECT_FALSE(remote.ok()) << url << ": " << *remote;
    EXPECT_THAT(std::string(remote.status().message()), HasSubstr("expected s3://BUCKET/PATH")) << url;
  }
}

}  // namespace
}  // namespace hearth::server
