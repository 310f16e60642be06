// Where code came from. A Source is one text; a SourceRange is a half-open byte range of it, small and trivially
// copyable so that every token, tree and node carries one. Whoever makes Graphs from a Source keeps it alive: the
// CompilationUnit for an archive's code, Graph::KeepSource for text that a Graph was parsed from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Where code came from before it was serialized, as an archive's debug records give it: a range of a piece of the
// user's own text.
struct OriginalLocation {
  std::string file;        // empty if it is not known
  int64_t first_line = 0;  // the number of the text's first line in that file, from 1
  std::string text;        // of a traced call the Python stack; empty if the code came from nowhere
  size_t begin = 0;        // half-open, in bytes of the text
  size_t end = 0;

  // Of the range's first byte in the file.
  int64_t line() const;
};

class Source;

// Finds the user's own text for a byte offset of a serialized source. Thread-safe; may decode lazily at first use.
class OriginalLocations {
 public:
  virtual ~OriginalLocations() = default;
  // Fills `location` and returns true if the archive says where the code at `offset` came from.
  virtual bool Find(size_t offset, OriginalLocation* location) const = 0;
};

class Source {
 public:
  // `name` is what errors call the text, e.g. "code/__torch__.py".
  Source(std::string text, std::string name, std::shared_ptr<const OriginalLocations> originals = nullptr);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::string_view text() const { return text_; }
  const std::string& name() const { return name_; }
  const OriginalLocations* originals() const { return originals_.get(); }

  // 1-based line and 0-based column of a byte offset.
  struct Position {
    size_t line;
    size_t column;
  };
  Position PositionOf(size_t offset) const;
  // The text of a 1-based line, without its newline.
  std::string_view Line(size_t line) const;

 private:
  std::string text_;
  std::string name_;
  std::shared_ptr<const OriginalLocations> originals_;
  std::vector<size_t> line_starts_;
};

struct SourceRange {
  const Source* source = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  std::string_view text() const { return source ? source->text().substr(begin, end - begin) : std::string_view(); }
  // The file and line, then the line itself with the range underlined; empty if there is no source.
  std::string Highlight() const;
};

}  // namespace hearth
