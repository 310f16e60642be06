// Writes HTML. Markup comes from literals of the program alone, which the compiler checks; all else is text and is
// escaped for what it may stand in: elements and attributes in double quotes. So nothing that a model's name or an
// error holds becomes markup.
#pragma once

#include <string>
#include <string_view>

namespace hearth::server {

class Html {
 public:
  // Text that the compiler has read.
  struct Markup {
    consteval Markup(const char* literal) : text(literal) {}  // NOLINT(google-explicit-constructor)
    std::string_view text;
  };

  Html& Raw(Markup markup) {
    out_ += markup.text;
    return *this;
  }
  Html& Text(std::string_view text);
  // A name that came from outside, whose direction of writing is its own affair.
  Html& Name(std::string_view name) { return Raw("<bdi>").Text(name).Raw("</bdi>"); }
  // As one part of a path in a link.
  Html& PathPart(std::string_view part);

  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace hearth::server
