#include "jit/fuser/ir/parser.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "jit/fuser/ir/scalar_math.h"

namespace hearth::fuser {
namespace {

// Far more than any kernel has.
constexpr size_t kMostDefinitions = size_t{1} << 20;
constexpr size_t kMostInList = size_t{1} << 12;

enum class TokenKind : uint8_t { kValue, kBuffer, kWord, kNumber, kMark, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  size_t at = 0;

  bool Is(std::string_view expected) const {
    return (kind == TokenKind::kWord || kind == TokenKind::kMark) && text == expected;
  }
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || IsDigit(c); }

// Cuts the text into tokens, and always holds the next one.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { Advance(); }

  const Token& next() const { return next_; }

  Token Take() {
    const Token token = next_;
    Advance();
    return token;
  }

  [[noreturn]] void Fail(size_t at, const std::string& message) const {
    const std::string_view before = text_.substr(0, at);
    const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw ParseError(static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1, at - line_start + 1,
                     message);
  }

  [[noreturn]] void FailExpected(std::string_view expected) const {
    std::string found = "the end of the text";
    if (next_.kind != TokenKind::kEnd) found = "'" + std::string(next_.text.substr(0, 40)) + "'";
    Fail(next_.at, "expected " + std::string(expected) + ", found " + found);
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  void Advance() {
    SkipSpace();
    const size_t begin = at_;
    if (begin == text_.size()) {
      next_ = {TokenKind::kEnd, {}, begin};
      return;
    }
    const char first = text_[at_++];
    TokenKind kind = TokenKind::kMark;
    if (first == '%' || first == '@') {
      kind = first == '%' ? TokenKind::kValue : TokenKind::kBuffer;
      SkipWord();
    } else if (IsDigit(first) || first == '-' || first == '.') {
      kind = TokenKind::kNumber;
      SkipNumber();
    } else if (IsWordCharacter(first)) {
      kind = TokenKind::kWord;
      SkipWord();
    }
    next_ = {kind, text_.substr(begin, at_ - begin), begin};
  }

  void SkipWord() {
    while (at_ < text_.size() && IsWordCharacter(text_[at_])) ++at_;
  }

  void SkipNumber() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const char before = text_[at_ - 1];
      const bool sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
      if (!IsWordCharacter(c) && c != '.' && !sign) return;
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  Token next_;
};

class KernelParser {
 public:
  explicit KernelParser(std::string_view text) : lexer_(text) {}

  Kernel Read() {
    ReadWord("kernel");
    ReadSymbols();
    ReadMark("{");
    while (lexer_.next().kind == TokenKind::kValue) {
      // Loops with results look like instructions up to the word after "=".
      Statement statement = ReadStatement();
      Body& body = statement.loop != nullptr || !kernel_.body.empty() ? kernel_.body : kernel_.prologue;
      body.push_back(std::move(statement));
    }
    if (kernel_.body.empty()) {
      while (TryReadBuffer()) {
      }
    }
    while (!lexer_.next().Is("}")) kernel_.body.push_back(ReadStatement());
    ReadMark("}");
    if (lexer_.next().kind != TokenKind::kEnd) lexer_.FailExpected("the end of the text");
    kernel_.num_values = static_cast<ValueId>(num_definitions_);
    return std::move(kernel_);
  }

 private:
  // ---- Tokens ----

  bool TryMark(std::string_view mark) {
    if (!lexer_.next().Is(mark)) return false;
    lexer_.Take();
    return true;
  }

  void ReadMark(std::string_view mark) {
    if (!TryMark(mark)) lexer_.FailExpected("'" + std::string(mark) + "'");
  }

  void ReadWord(std::string_view word) { ReadMark(word); }

  uint32_t ReadId(TokenKind kind, std::string_view what) {
    if (lexer_.next().kind != kind) lexer_.FailExpected(what);
    const std::string_view digits = lexer_.next().text.substr(1);
    uint32_t id = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (error != std::errc() || end != digits.data() + digits.size() || id >= kMostDefinitions) {
      lexer_.FailExpected(what);
    }
    lexer_.Take();
    return id;
  }

  ValueId ReadValue() { return ReadId(TokenKind::kValue, "a value"); }
  BufferId ReadBufferId() { return ReadId(TokenKind::kBuffer, "a buffer"); }

  void CountDefinition() {
    if (++num_definitions_ > kMostDefinitions) lexer_.Fail(lexer_.next().at, "too many values");
  }

  ValueId ReadDefinition() {
    CountDefinition();
    return ReadValue();
  }

  // Values with commas between them, at least one.
  std::vector<ValueId> ReadValues() {
    std::vector<ValueId> values;
    do {
      if (values.size() == kMostInList) lexer_.Fail(lexer_.next().at, "too many values in a list");
      values.push_back(ReadValue());
    } while (TryMark(","));
    return values;
  }

  std::vector<ValueId> ReadList() {
    ReadMark("[");
    if (TryMark("]")) return {};
    std::vector<ValueId> values = ReadValues();
    if (!TryMark("]")) lexer_.FailExpected("',' or ']'");
    return values;
  }

  Dtype ReadDtype(std::string_view what) {
    const std::optional<Dtype> dtype = DtypeOfName(lexer_.next().text);
    if (lexer_.next().kind != TokenKind::kWord || !dtype) lexer_.FailExpected(what);
    lexer_.Take();
    return *dtype;
  }

  // ---- The kernel's head ----

  void ReadSymbols() {
    ReadMark("(");
    if (TryMark(")")) return;
    do {
      if (kernel_.symbols.size() == kMostInList) lexer_.Fail(lexer_.next().at, "too many symbols");
      const std::string number = std::to_string(kernel_.symbols.size());
      if (lexer_.next().text != "%" + number) lexer_.FailExpected("the symbol %" + number);
      ReadDefinition();
      kernel_.symbols.push_back(Dtype::kInt64);
      if (TryMark("f64")) kernel_.symbols.back() = Dtype::kFloat64;
    } while (TryMark(","));
    if (!TryMark(")")) lexer_.FailExpected("'f64', ',' or ')'");
  }

  bool TryReadBuffer() {
    Buffer buffer;
    if (TryMark("output")) {
      buffer.kind = BufferKind::kOutput;
    } else if (TryMark("local")) {
      buffer.kind = BufferKind::kLocal;
    } else if (!TryMark("input")) {
      return false;
    }
    const std::string number = std::to_string(kernel_.buffers.size());
    if (lexer_.next().text != "@" + number) lexer_.FailExpected("the buffer @" + number);
    ReadBufferId();
    buffer.dtype = ReadDtype("a dtype");
    buffer.sizes = ReadList();
    if (buffer.kind != BufferKind::kLocal) {
      ReadWord("strides");
      buffer.strides = ReadList();
    }
    kernel_.buffers.push_back(std::move(buffer));
    return true;
  }

  // ---- Statements ----

  Statement ReadStatement() {
    Statement statement;
    const Token& next = lexer_.next();
    if (next.Is("store")) {
      statement.instruction = ReadStore();
    } else if (next.Is("parallel") || next.Is("sequential")) {
      statement.loop = ReadLoop({});
    } else if (next.kind == TokenKind::kValue) {
      std::vector<ValueId> results = ReadValues();
      ReadMark("=");
      if (lexer_.next().Is("reduce") || lexer_.next().Is("sequential")) {
        statement.loop = ReadLoop(results);
      } else if (results.size() > 1) {
        lexer_.FailExpected("'reduce' or 'sequential'");
      } else {
        statement.instruction = ReadInstruction(results[0]);
      }
    } else {
      lexer_.FailExpected("a statement");
    }
    return statement;
  }

  Instruction ReadStore() {
    lexer_.Take();
    Instruction store{.opcode = Opcode::kStore};
    store.buffer = ReadBufferId();
    // A store of another dtype than the buffer's is ill-formed, and has no text of its own.
    if (store.buffer < kernel_.buffers.size()) store.dtype = kernel_.buffers[store.buffer].dtype;
    std::vector<ValueId> indices = ReadList();
    ReadMark(",");
    store.operands.push_back(ReadValue());
    store.operands.insert(store.operands.end(), indices.begin(), indices.end());
    return store;
  }

  Instruction ReadInstruction(ValueId result) {
    CountDefinition();
    Instruction instruction{.result = result};
    instruction.dtype = ReadDtype("a dtype, 'reduce' or 'sequential'");
    const std::optional<Opcode> opcode = OpcodeOfName(lexer_.next().text);
    if (lexer_.next().kind != TokenKind::kWord || !opcode || *opcode == Opcode::kStore) {
      lexer_.FailExpected("an operation");
    }
    lexer_.Take();
    instruction.opcode = *opcode;
    switch (*opcode) {
      case Opcode::kConstant:
        ReadLiteral(&instruction);
        break;
      case Opcode::kLoad:
        instruction.buffer = ReadBufferId();
        instruction.operands = ReadList();
        break;
      case Opcode::kLoadIf: {
        const ValueId condition = ReadValue();
        ReadMark(",");
        instruction.buffer = ReadBufferId();
        instruction.operands = ReadList();
        instruction.operands.insert(instruction.operands.begin(), condition);
        break;
      }
      default:
        instruction.operands = ReadValues();
    }
    return instruction;
  }

  // ---- Literals ----

  void ReadLiteral(Instruction* constant) {
    if (constant->dtype == Dtype::kBool) {
      if (!lexer_.next().Is("true") && !lexer_.next().Is("false")) lexer_.FailExpected("'true' or 'false'");
      constant->integer = lexer_.Take().text == "true" ? 1 : 0;
    } else if (IsInteger(constant->dtype)) {
      constant->integer = ReadNumber<int64_t>("an integer");
      if (Wrap(static_cast<Bits>(constant->integer), constant->dtype) != static_cast<Bits>(constant->integer)) {
        lexer_.Fail(literal_at_,
                    std::to_string(constant->integer) + " is no value of " + std::string(NameOf(constant->dtype)));
      }
    } else {
      constant->real = RoundTo(constant->dtype, ReadReal(constant->dtype));
    }
  }

  double ReadReal(Dtype dtype) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (TryMark("inf")) return infinity;
    if (TryMark("nan")) return std::numeric_limits<double>::quiet_NaN();
    if (lexer_.next().text == "-inf") {
      lexer_.Take();
      return -infinity;
    }
    return dtype == Dtype::kFloat64 ? ReadNumber<double>("a number") : ReadNumber<float>("a number");
  }

  template <class T>
  T ReadNumber(std::string_view what) {
    literal_at_ = lexer_.next().at;
    const std::string_view text = lexer_.next().text;
    // from_chars would take "-inf" and "-nan" as well.
    if (lexer_.next().kind != TokenKind::kNumber || (!IsDigit(text[0]) && (text.size() < 2 || !IsDigit(text[1])))) {
      lexer_.FailExpected(what);
    }
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) lexer_.FailExpected(std::string(what) + " in range");
    if (error != std::errc() || end != text.data() + text.size()) lexer_.FailExpected(what);
    lexer_.Take();
    return number;
  }

  // ---- Loops ----

  std::unique_ptr<Loop> ReadLoop(const std::vector<ValueId>& results) {
    if (depth_ == kMaxLoopDepth) lexer_.Fail(lexer_.next().at, "too many loops inside one another");
    auto loop = std::make_unique<Loop>();
    const Token kind = lexer_.Take();
    if (kind.Is("reduce")) loop->kind = LoopKind::kReduce;
    if (kind.Is("sequential")) loop->kind = LoopKind::kSequential;
    loop->index = ReadDefinition();
    ReadMark("<");
    loop->extent = ReadValue();
    if (loop->kind == LoopKind::kSequential && !results.empty()) ReadCarried(loop.get());
    ReadMark("{");
    ++depth_;
    while (!lexer_.next().Is("}") && !lexer_.next().Is("yield")) loop->body.push_back(ReadStatement());
    --depth_;
    ReadYield(loop.get(), results);
    ReadMark("}");
    return loop;
  }

  void ReadCarried(Loop* loop) {
    ReadMark("(");
    do {
      if (loop->carried.size() == kMostInList) lexer_.Fail(lexer_.next().at, "too many values in a list");
      Carried carried;
      carried.value = ReadDefinition();
      ReadMark("=");
      carried.initial = ReadValue();
      loop->carried.push_back(carried);
    } while (TryMark(","));
    if (!TryMark(")")) lexer_.FailExpected("',' or ')'");
  }

  void ReadYield(Loop* loop, const std::vector<ValueId>& results) {
    if (results.empty()) return;
    ReadWord("yield");
    const size_t at = lexer_.next().at;
    if (loop->kind == LoopKind::kReduce) {
      do {
        loop->accumulators.push_back(ReadAccumulator());
      } while (TryMark(","));
      CheckCount(at, loop->accumulators.size(), results.size());
      for (size_t i = 0; i < results.size(); ++i) loop->accumulators[i].result = results[i];
    } else {
      const std::vector<ValueId> next = ReadValues();
      CheckCount(at, next.size(), results.size());
      CheckCount(at, loop->carried.size(), results.size());
      for (size_t i = 0; i < results.size(); ++i) {
        loop->carried[i].next = next[i];
        loop->carried[i].result = results[i];
      }
    }
    for (size_t i = 0; i < results.size(); ++i) CountDefinition();
  }

  Accumulator ReadAccumulator() {
    const std::optional<Reduction> reduction = ReductionOfName(lexer_.next().text);
    if (!reduction) lexer_.FailExpected("a reduction");
    lexer_.Take();
    return {*reduction, ReadValue(), kNoValue};
  }

  void CheckCount(size_t at, size_t given, size_t results) const {
    if (given == results) return;
    lexer_.Fail(at, "a loop with " + std::to_string(results) + " results yields or carries " + std::to_string(given));
  }

  Lexer lexer_;
  Kernel kernel_;
  size_t num_definitions_ = 0;
  size_t literal_at_ = 0;
  int depth_ = 0;
};

}  // namespace

Kernel Parse(std::string_view text) { return KernelParser(text).Read(); }

}  // namespace hearth::fuser
