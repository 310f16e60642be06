// A file of a log that may be opened anew under its name, for who has renamed it. Thread-safe.
#pragma once

#include <spdlog/details/file_helper.h>
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace hearth::server {

class ReopenableFile : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Appends to the file `place`. Throws spdlog_ex where that cannot be opened.
  explicit ReopenableFile(std::string place) : place_(std::move(place)), file_(OpenFile()) {}

  const std::string& place() const { return place_; }

  // Lines so far are in the file that was open, lines from now on in that of the name. Throws spdlog_ex where it cannot
  // be opened; the one that was open stays so.
  void Reopen() {
    std::unique_ptr<spdlog::details::file_helper> file = OpenFile();
    std::lock_guard lock(mutex_);
    file_.swap(file);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    file_->write(formatted);
  }
  void flush_() override { file_->flush(); }

 private:
  std::unique_ptr<spdlog::details::file_helper> OpenFile() const {
    auto file = std::make_unique<spdlog::details::file_helper>();
    file->open(place_);
    return file;
  }

  const std::string place_;
  std::unique_ptr<spdlog::details::file_helper> file_;
};

}  // namespace hearth::server
