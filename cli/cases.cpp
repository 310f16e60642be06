#include "cli/cases.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "cli/text.h"

namespace hearth::cli {
namespace {

std::string Bad(std::string_view message) { return "bad " + EscapeLine(OneLine(message)); }

std::string RunCase(Session& session, const std::string& line) {
  const std::vector<std::string_view> views = SplitText(line, '\t');
  const std::vector<std::string> fields(views.begin(), views.end());
  if (fields.size() < 3 || fields.size() > 4 || fields[0].empty() || fields[1].empty()) {
    return Bad("expected archive, inputs, output and perhaps a method with tabs between, found '" + line + "'");
  }
  auto model = session.Load(fields[0]);
  if (!model.ok()) return Bad(MessageOf(model.status()));
  auto inputs = ReadInputs(fields[1]);
  if (!inputs.ok()) return Bad(MessageOf(inputs.status()));
  const std::string method = fields.size() == 4 ? fields[3] : "";
  const auto answer = CallOnce(**model, method, *std::move(inputs));
  if (!answer.ok()) {
    return ModelRaised(answer.status()) ? "raised " + EscapeLine(RaisedMessage(answer.status()))
                                        : Bad(MessageOf(answer.status()));
  }
  if (!fields[2].empty() && fields[2] != "-") {
    const absl::Status written = WriteAnswer(*answer, fields[2]);
    if (!written.ok()) return Bad(MessageOf(written));
  }
  return "ok";
}

}  // namespace

int RunCases(const std::string& path, const SessionOptions& options) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) return FailWithLine("run", path + ": cannot be read");
  }
  auto session = Session::Open(options);
  if (!session.ok()) return FailWithLine("run", MessageOf(session.status()));
  std::istream& lines = path == "-" ? std::cin : file;
  for (std::string line; std::getline(lines, line);) {
    std::string answer;
    try {
      answer = RunCase(*session, line);
    } catch (const std::exception& error) {
      answer = Bad(error.what());
    }
    std::puts(answer.c_str());
    std::fflush(stdout);
  }
  return kSuccess;
}

}  // namespace hearth::cli
