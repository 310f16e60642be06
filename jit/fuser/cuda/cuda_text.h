// Lines of C++ that are indented by how many blocks in braces they are in.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace hearth::fuser {

class CudaText {
 public:
  void Line(const std::string& line) {
    text_.append(2 * depth_, ' ');
    text_ += line;
    text_ += '\n';
  }

  // The line before a block, with its brace. Each has an End of its own.
  void Begin(const std::string& line) {
    Line(line + " {");
    ++depth_;
  }
  void End() {
    --depth_;
    Line("}");
  }

  // All of it; to be called once.
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace hearth::fuser
