// Values of literal tokens: numbers and the text of strings. Errors are CompileError at the literal. Escapes are those
// that torch.jit.save prints and torch.jit.load reads: \\ \' \" \a \b \f \n \r \t \v, an escaped line end, and up to
// three octal digits, which mean one byte. \x, \u, \U and \N are refused, as they are there: strings are bytes.
#pragma once

#include <cstdint>
#include <string>

#include "jit/frontend/lexer.h"
#include "jit/support/source_range.h"

namespace hearth {

// `token` is a kInt. `negative` folds a minus before it, which makes -9223372036854775808 a literal.
int64_t IntValue(const Source& source, const Token& token, bool negative);

// `token` is a kFloat, or a kImaginary, whose trailing j is ignored.
double FloatValue(const Source& source, const Token& token);

// Where the text of a string token lies between its quotes.
struct StringContent {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool raw = false;
};
StringContent ContentOf(const Source& source, const Token& token);

// Appends bytes [begin, end) of a string's content to `out`, escapes resolved unless it is raw.
void AppendUnescaped(const Source& source, uint32_t begin, uint32_t end, bool raw, std::string* out);

}  // namespace hearth
