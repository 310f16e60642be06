#include "jit/interpreter/traceback.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

#include "jit/interpreter/run_group.h"
#include "jit/support/errors.h"
#include "jit/support/memory_account.h"
#include "jit/support/resource_error.h"

namespace hearth {
namespace {

// A place on the stack of calls as the model's author sees it: inlined calls are frames too.
struct Place {
  const SourceRange* range;
  std::string function;
};

// More frames than these are told by their number; a longer message is cut.
constexpr size_t kOuterPlaces = 20;
constexpr size_t kInnerPlaces = 80;
constexpr size_t kLongestMessage = 1 << 20;
// What a fork's failure tells of itself where it is waited for, who may be waited for in turn.
constexpr size_t kLongestReport = 64 << 10;

std::string ShortName(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  return dot == std::string::npos ? qualified : qualified.substr(dot + 1);
}

void AddPlaces(const TracebackFrame& frame, std::vector<Place>& places) {
  const InstructionOrigin& origin = frame.code->origins[frame.instruction];
  std::vector<const InlinedFrame*> chain;
  for (int32_t i = origin.inlined; i >= 0; i = frame.code->inlined[static_cast<size_t>(i)].caller) {
    chain.push_back(&frame.code->inlined[static_cast<size_t>(i)]);
  }
  std::string function = ShortName(frame.code->function_name);
  for (auto call = chain.rbegin(); call != chain.rend(); ++call) {
    places.push_back({&(*call)->call_site, std::move(function)});
    function = ShortName((*call)->callee);
  }
  places.push_back({&origin.range, std::move(function)});
}

size_t LineBegin(std::string_view text, size_t at) {
  const size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

size_t LineEnd(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

// The mark under one line of a range, from its first character that is not blank.
void Underline(std::string_view text, size_t begin, size_t end, size_t line_end, std::string& out) {
  const size_t line_begin = LineBegin(text, begin);
  const size_t last = std::min(line_end, end);
  size_t first = begin;
  while (first < last && text[first] == ' ') ++first;
  if (first == last) return;
  out.append(first - line_begin, ' ').append(last - first, '~');
  const bool goes_on = line_end < end && text.substr(line_end, end - line_end).find_first_not_of(" \n") != text.npos;
  out.append(goes_on ? "\n" : " <--- HERE\n");
}

// The lines of the range, underlined, with two lines before and two after.
void PrintExcerpt(std::string_view text, size_t begin, size_t end, std::string& out) {
  constexpr int kContext = 2;
  size_t from = LineBegin(text, begin);
  size_t until = LineEnd(text, end);
  for (int i = 0; i < kContext; ++i) {
    if (from > 0) from = LineBegin(text, from - 1);
    if (until < text.size()) until = LineEnd(text, until + 1);
  }
  out.append(text.substr(from, begin - from));
  size_t at = begin;
  while (at < end) {
    const size_t line_end = LineEnd(text, at);
    out.append(text.substr(at, line_end - at)).append("\n");
    Underline(text, at, end, line_end, out);
    at = line_end + 1;
  }
  if (at >= until) return;
  out.append(text.substr(at, until - at));
  if (out.back() != '\n') out.append("\n");
}

void PrintHead(std::string_view file, int64_t line, const std::string& function, std::string& out) {
  out.append("  File \"").append(file).append("\", line ").append(std::to_string(line));
  out.append(", in ").append(function).append("\n");
}

void PrintSerialized(const Place& place, std::string& out) {
  const SourceRange& range = *place.range;
  if (range.source == nullptr) {
    out.append("  in ").append(place.function).append("\n");
    return;
  }
  PrintHead(range.source->name(), static_cast<int64_t>(range.source->PositionOf(range.begin).line), place.function,
            out);
  PrintExcerpt(range.source->text(), range.begin, range.end, out);
}

// False if the archive does not say where the place came from.
bool PrintOriginal(const Place& place, std::string& out) {
  const SourceRange& range = *place.range;
  if (range.source == nullptr || range.source->originals() == nullptr) return false;
  OriginalLocation location;
  if (!range.source->originals()->Find(range.begin, &location)) return false;
  if (location.end - location.begin == location.text.size()) {
    // A traced call's is the Python stack, no excerpt of a file.
    out.append(location.text);
    return true;
  }
  if (!location.file.empty()) PrintHead(location.file, location.line(), place.function, out);
  PrintExcerpt(location.text, location.begin, location.end, out);
  return true;
}

std::vector<Place> PlacesOf(std::span<const TracebackFrame> frames) {
  std::vector<Place> places;
  for (const TracebackFrame& frame : frames) AddPlaces(frame, places);
  return places;
}

// In the words and the form of LibTorch, whose users and tools know them.
std::string Report(std::span<const TracebackFrame> frames, const std::string& class_name, const std::string& message) {
  // A frame gives a place at least, so that what is left out of many frames is left out of their places too.
  const bool many = frames.size() > kOuterPlaces + kInnerPlaces;
  const std::vector<Place> outer = PlacesOf(many ? frames.first(kOuterPlaces) : frames);
  const std::vector<Place> inner = PlacesOf(many ? frames.last(kInnerPlaces) : frames.last(0));
  std::string serialized;
  std::string original;
  bool has_original = false;
  const auto print = [&](const Place& place) {
    PrintSerialized(place, serialized);
    if (PrintOriginal(place, original)) {
      has_original = true;
    } else {
      PrintSerialized(place, original);
    }
  };
  for (const Place& place : outer) print(place);
  if (many) {
    const std::string left_out =
        "  ... " + std::to_string(frames.size() - kOuterPlaces - kInnerPlaces) + " calls more ...\n";
    serialized.append(left_out);
    original.append(left_out);
  }
  for (const Place& place : inner) print(place);
  std::string report = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript";
  report.append(has_original ? ", serialized code" : "").append(" (most recent call last):\n").append(serialized);
  if (has_original) {
    report.append("\nTraceback of TorchScript, original code (most recent call last):\n").append(original);
  }
  return report.append(class_name).append(": ").append(message).append("\n");
}

// A fork's report as its waiter's quotes it. Its last line's end is left out: nested forks would pile up empty lines
// below what went wrong.
std::string Quoted(std::string report) {
  if (report.ends_with('\n')) report.pop_back();
  if (report.size() <= kLongestReport) return report;
  const size_t cut = report.size() - kLongestReport;
  return report.replace(kLongestReport / 4, cut, "\n ... (" + std::to_string(cut) + " bytes more) ...\n");
}

template <typename Error = ModelError>
std::exception_ptr Make(std::span<const TracebackFrame> frames, const std::string& class_name, std::string message) {
  if (message.size() > kLongestMessage) {
    const std::string cut = " ... (" + std::to_string(message.size() - kLongestMessage) + " bytes more)";
    message.resize(kLongestMessage);
    message += cut;
  }
  const std::string report = Report(frames, class_name, message);
  return std::make_exception_ptr(Error(class_name, std::move(message), report));
}

}  // namespace

std::exception_ptr WithTraceback(std::exception_ptr error, std::span<const TracebackFrame> frames) {
  try {
    std::rethrow_exception(error);
  } catch (const CancelledError&) {
    return error;
  } catch (const MemoryLimitError& refused) {
    return Make<ResourceError>(frames, "MemoryError", std::string("the request ") + refused.what());
  } catch (const c10::OutOfMemoryError& refused) {
    // Of a GPU, whose memory no account has the limit of.
    return Make<ResourceError>(frames, "OutOfMemoryError", refused.what_without_backtrace());
  } catch (const ForkLimitError& refused) {
    return Make<ResourceError>(frames, "RuntimeError", refused.what());
  } catch (const ResourceError& of_fork) {
    return Make<ResourceError>(frames, "RuntimeError", Quoted(of_fork.what()));
  } catch (const ModelError& of_fork) {
    return Make(frames, "RuntimeError", Quoted(of_fork.what()));
  } catch (const RaisedException& raised) {
    return Make(frames, raised.class_name, raised.message);
  } catch (const c10::Error& failed) {
    return Make(frames, "RuntimeError", failed.what_without_backtrace());
  } catch (const std::exception& failed) {
    return Make(frames, "RuntimeError", failed.what());
  } catch (...) {
    return Make(frames, "RuntimeError", "unknown exception");
  }
}

}  // namespace hearth
