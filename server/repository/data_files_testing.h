// A model's folder with one of kDataFolders in it, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "server/repository/data_files.h"

namespace hearth::server {

class DataFolder {
 public:
  explicit DataFolder(const char* folder) : folder_(folder) { std::filesystem::create_directories(path()); }
  ~DataFolder() { std::filesystem::remove_all(model_); }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  std::filesystem::path path() const { return model_ / folder_; }
  void Write(const std::string& name, std::string_view bytes) const { std::ofstream(path() / name) << bytes; }
  DataFiles files() const {
    return {model_, folder_, [](const std::filesystem::path& path) { return path; }};
  }

 private:
  const std::filesystem::path model_ =
      std::filesystem::temp_directory_path() / ("hearth_data_files_" + std::to_string(getpid()));
  const char* const folder_;
};

}  // namespace hearth::server
