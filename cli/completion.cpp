// hearth completion SHELL: what bash, zsh or fish need to complete hearth's command line, from the tree of subcommands
// and options that the command line itself is parsed with. Words that are no option complete as files do.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"
#include "cli/failure.h"

namespace hearth::cli {
namespace {

struct Word {
  std::string text;  // "--json"
  std::string help;
  bool takes_value = false;
};

struct Command {
  std::string name;
  std::string help;
  std::vector<Word> options;
};

// The first line; shells show no more.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<Word> OptionsOf(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words.push_back({"--" + name, FirstLine(option->get_description()), option->get_items_expected_max() > 0});
    }
  }
  return words;
}

std::vector<Command> CommandsOf(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back({command->get_name(), FirstLine(command->get_description()), OptionsOf(*command)});
  }
  return commands;
}

std::string Names(const std::vector<Command>& commands) {
  return absl::StrJoin(commands, " ", [](std::string* out, const Command& command) { *out += command.name; });
}

std::string Names(const std::vector<Word>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const Word& word) { *out += word.text; });
}

// In single quotes of a POSIX shell.
std::string Quoted(const std::string& text) { return "'" + absl::StrReplaceAll(text, {{"'", "'\\''"}}) + "'"; }

std::string Bash(const std::vector<Command>& commands, const std::vector<Word>& options) {
  std::string cases;
  for (const Command& command : commands) {
    absl::StrAppend(&cases, "    ", command.name, ") words=", Quoted(Names(command.options)), " ;;\n");
  }
  return absl::StrCat(R"(# bash completion for hearth
_hearth() {
  local current=${COMP_WORDS[COMP_CWORD]} words
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W )",
                      Quoted(absl::StrCat(Names(commands), " ", Names(options))), R"( -- "$current"))
    return
  fi
  case ${COMP_WORDS[1]} in
)",
                      cases, R"(    *) return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _hearth hearth
)");
}

// A description within a specification of zsh's _arguments or _describe.
std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {":", "\\:"}, {"[", "\\["}, {"]", "\\]"}});
}

std::string Zsh(const std::vector<Command>& commands, const std::vector<Word>& options) {
  std::string text = "#compdef hearth\n_hearth() {\n  local -a commands\n  commands=(\n";
  for (const Command& command : commands) {
    absl::StrAppend(&text, "    ", Quoted(absl::StrCat(command.name, ":", ZshText(command.help))), "\n");
  }
  for (const Word& option : options) {
    absl::StrAppend(&text, "    ", Quoted(absl::StrCat(option.text, ":", ZshText(option.help))), "\n");
  }
  absl::StrAppend(&text, "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n",
                  "  case $words[2] in\n");
  for (const Command& command : commands) {
    absl::StrAppend(&text, "    ", command.name, ")\n      _arguments");
    for (const Word& option : command.options) {
      absl::StrAppend(&text, " \\\n        ",
                      Quoted(absl::StrCat("*", option.text, "[", ZshText(option.help), "]",
                                          option.takes_value ? ":value:_files" : "")));
    }
    absl::StrAppend(&text, " \\\n        '*:file:_files'\n      ;;\n");
  }
  // Loaded by its name from zsh's path of functions, it is called; read as a file, it makes itself known.
  return absl::StrCat(
      text, "  esac\n}\n",
      "if [[ ${funcstack[1]} == _hearth ]]; then\n  _hearth \"$@\"\nelse\n  compdef _hearth hearth\nfi\n");
}

// In single quotes of fish, where a backslash quotes too.
std::string FishQuoted(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

std::string Fish(const std::vector<Command>& commands, const std::vector<Word>& options) {
  std::string text = "# fish completion for hearth\n";
  const auto option_line = [](const char* condition, const std::string& value, const Word& option) {
    return absl::StrCat("complete -c hearth -n '", condition, value, "' -l ", option.text.substr(2),
                        option.takes_value ? " -r" : "", " -d ", FishQuoted(option.help), "\n");
  };
  for (const Command& command : commands) {
    absl::StrAppend(&text, "complete -c hearth -n __fish_use_subcommand -f -a ", command.name, " -d ",
                    FishQuoted(command.help), "\n");
  }
  for (const Word& option : options) text += option_line("__fish_use_subcommand", "", option);
  for (const Command& command : commands) {
    for (const Word& option : command.options) {
      text += option_line("__fish_seen_subcommand_from ", command.name, option);
    }
  }
  return text;
}

}  // namespace

Action AddCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "Prints what a shell needs to complete hearth's command line");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [shell, &app] {
    const std::vector<Command> commands = CommandsOf(app);
    const std::vector<Word> options = OptionsOf(app);
    const std::string text = *shell == "bash"  ? Bash(commands, options)
                             : *shell == "zsh" ? Zsh(commands, options)
                                               : Fish(commands, options);
    std::fputs(text.c_str(), stdout);
    return kSuccess;
  };
}

}  // namespace hearth::cli
