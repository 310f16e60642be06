#include "jit/profile_store/profile_store.h"

#include <ATen/Version.h>
#include <c10/util/hash.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include "jit/profile_store/profile_file.h"
#include "jit/support/file_error.h"
#include "jit/support/kept_files.h"
#include "jit/support/logging.h"
#include "jit/support/new_file.h"
#include "jit/support/version.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".profiles";

spdlog::logger& StoreLog() {
  static spdlog::logger& log = LoggerOf("profile_store/profile_store");
  return log;
}

std::string Digest(const std::string& text) { return c10::sha1(text).str(); }

}  // namespace

ProfileStore::ProfileStore(fs::path folder, ProfileStoreLimits limits) : folder_(std::move(folder)), limits_(limits) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) StoreLog().warn("{}: cannot be made: {}", folder_.string(), error.message());
}

std::string ProfileStore::KeyOf(const ZipReader& archive, c10::Device device) {
  std::string directory;
  for (const ZipRecord& record : archive.records()) {
    directory +=
        std::string(record.name) + '\0' + std::to_string(record.size) + ' ' + std::to_string(record.crc32) + '\n';
  }
  const std::string versions = std::string(kVersion) + '\n' + at::show_config() + '\n' + device.str();
  return Digest(directory) + "-" + Digest(versions).substr(0, 8);
}

fs::path ProfileStore::PathOf(const std::string& key) const { return folder_ / (key + kExtension); }

std::vector<SpecProfile> ProfileStore::Read(const std::string& key) const {
  const fs::path path = PathOf(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  try {
    std::string bytes(kMaxProfileFileBytes + 1, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (file.bad()) throw ProfileFileError("it cannot be read");
    bytes.resize(static_cast<size_t>(file.gcount()));
    if (bytes.size() > kMaxProfileFileBytes) throw ProfileFileError("it is larger than any that was written");
    return ReadProfileFile(key, bytes);
  } catch (const ProfileFileError& error) {
    StoreLog().warn("{} is ignored: {}", path.string(), error.what());
    return {};
  }
}

void ProfileStore::Write(const std::string& key, std::vector<SpecProfile> profiles,
                         const std::vector<SpecProfile>& read) const {
  for (SpecProfile& before : Read(key)) {
    const auto has_same_spec = [&](const SpecProfile& each) { return each.HasSameSpec(before); };
    if (std::ranges::any_of(profiles, has_same_spec)) continue;
    const auto had = std::ranges::find_if(read, has_same_spec);
    if (had != read.end() && had->calls == before.calls) before.CountHalf();
    profiles.push_back(std::move(before));
  }
  std::erase_if(profiles, [](const SpecProfile& each) { return each.calls == 0; });
  std::ranges::stable_sort(profiles, std::greater(), &SpecProfile::calls);
  if (profiles.size() > limits_.specs) profiles.resize(limits_.specs);
  std::string bytes = WriteProfileFile(key, profiles);
  while (bytes.size() > kMaxProfileFileBytes) {
    profiles.resize(profiles.size() / 2);
    bytes = WriteProfileFile(key, profiles);
  }
  try {
    NewFile file(PathOf(key).string());
    file.Append(bytes.data(), bytes.size());
    file.Finish();
  } catch (const FileError& error) {
    StoreLog().warn("{}", error.what());
  }
  KeepNewest(folder_, kExtension, limits_.bytes);
}

}  // namespace hearth
