#include "server/repository/data_files.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/repository/layout.h"
#include "server/security/text_file.h"

namespace hearth::server {
namespace fs = std::filesystem;

absl::StatusOr<WireTensor> DataFiles::Read(const std::string& file, const Datatype& datatype,
                                           const std::vector<int64_t>& shape, int64_t most_bytes) const {
  // A client may send the configuration: it must not read what lies elsewhere.
  if (absl::Status status = CheckFileName(file); !status.ok()) return status;
  const fs::path name = fs::path(folder_) / file;
  const auto path = resolve_(model_ / name);
  if (!path.ok()) return path.status();
  std::error_code unreadable;
  const uintmax_t size = fs::file_size(*path, unreadable);
  // ReadTextFile says why it cannot be read. It takes as much memory as it is told that there may be bytes.
  const auto most = static_cast<uintmax_t>(most_bytes);
  auto bytes = ReadTextFile(*path, unreadable ? 0 : std::min(size, most));
  if (!bytes.ok()) return bytes.status();
  auto tensor = ReadRaw(file, datatype.name, shape, RawBytes::Of(*bytes));
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(),
                      absl::StrCat("the file ", name.string(), ": a tensor ", tensor.status().message()));
}

}  // namespace hearth::server
