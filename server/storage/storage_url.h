// Model repositories in object storage, named as Triton names them:
//
//   s3://BUCKET/PATH                      Amazon S3
//   s3://HOST:PORT/BUCKET/PATH            what speaks its protocol, over HTTP
//   s3://https://HOST:PORT/BUCKET/PATH    the same over HTTPS; http:// may be written, too
//   gs://BUCKET/PATH                      Google Cloud Storage
//
// PATH may be left out.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::server {

// Whether this names object storage, rightly or not, rather than a folder: a scheme and "://".
bool IsStorageUrl(std::string_view text);

// What rclone calls it (rclone.org/docs: connection strings), without a "/" at the end. kInvalidArgument, with the URL,
// for what is none of the above.
absl::StatusOr<std::string> RcloneRemote(std::string_view url);

}  // namespace hearth::server
