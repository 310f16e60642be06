// A file that takes its name only when it is whole: until then it is beside it under another, which goes if it is not
// finished. Who reads the name sees what was there before, or all of this. What is no regular file (a device, a pipe)
// is written where it is.
//
// Used by one thread. Throws FileError that names the file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace hearth {

class NewFile {
 public:
  // What is not finished has the name, this and more.
  static constexpr char kUnfinishedMark[] = ".new-";

  // `mode` as open takes it, less the process's mask.
  explicit NewFile(const std::string& path, mode_t mode = 0666);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Append(const char* data, size_t size);
  void Finish();

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace hearth
