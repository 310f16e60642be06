// Feeds any bytes, as lines, to what says where the files of a load may lie. Each path that is accepted must stay
// within the model's folder and be none that a load reads its configuration from, and all of them together must be
// writable.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/repository/client_files.h"
#include "server/repository/layout.h"
#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

void Require(bool holds) {
  if (!holds) std::abort();
}

void Check(const std::string& lines) {
  FileContents files;
  for (std::string& path : std::vector<std::string>(absl::StrSplit(lines, '\n'))) files.emplace(std::move(path), "");
  if (!CheckClientFiles(files).ok()) return;
  const fs::path folder = "/model";
  std::set<fs::path> folders;
  bool has_version = false;
  for (const auto& [name, text] : files) {
    const fs::path path = folder / name;
    Require(path == path.lexically_normal() && path != folder / kConfigFile);
    Require(fs::path(name).is_relative() && *name.rbegin() != '/');
    const fs::path inside = path.lexically_relative(folder);
    Require(*inside.begin() != "..");
    for (fs::path parent = path.parent_path(); parent != folder; parent = parent.parent_path()) folders.insert(parent);
    const bool of_version = path.parent_path() != folder;
    Require(!of_version || VersionOf(inside.begin()->string()).has_value());
    has_version = has_version || of_version;
  }
  Require(has_version);
  for (const auto& [name, text] : files) Require(!folders.contains(folder / name));
}

}  // namespace
}  // namespace hearth::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::server::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
