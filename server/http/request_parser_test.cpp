#include "server/http/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hearth::server {
namespace {

// The requests of these bytes as "METHOD PATH?QUERY BODY", or the status that refuses them, with the bytes in pieces of
// one size.
std::vector<std::string> Parse(std::string_view bytes, size_t piece) {
  RequestParser parser(512);
  std::vector<std::string> found;
  while (!bytes.empty()) {
    parser.Add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (bool more = true; more;) {
      switch (parser.Advance()) {
        case RequestParser::State::kHeadDone:
          parser.ReadBody(100);
          break;
        case RequestParser::State::kDone: {
          HttpRequest request = parser.TakeRequest();
          found.push_back(request.method + " " + request.path + "?" + request.query + " " +
                          std::string(request.body.view()));
          parser.Next();
          break;
        }
        case RequestParser::State::kFailed:
          found.push_back(std::to_string(parser.error().status));
          return found;
        default:
          more = false;
      }
    }
  }
  return found;
}

TEST(RequestParser, HowBytesAreCutMakesNoDifference) {
  const std::string bytes =
      "GET /a%2fb?x=%20 HTTP/1.1\r\nHost: h\r\n\r\n"
      "\r\nPOST http://h/p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd"
      "PUT /q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0a;e=\"f\"\r\n0123456789\r\n0\r\nT: "
      "u\r\n\r\n"
      "BREW /pot HTTP/1.0\r\n\r\n"
      "GET / HTTP/1.1\r\n\r\n";
  const std::vector<std::string> expected = {"GET /a/b?x=%20 ", "POST /p? abcd", "PUT /q? abc0123456789", "BREW /pot? ",
                                             "400"};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) ASSERT_EQ(Parse(bytes, piece), expected) << piece;
}

TEST(RequestParser, ABodyIsAlignedWhereItIsAskedTo) {
  for (size_t offset : {0, 1, 15, 16, 37}) {
    for (const size_t piece : {7, 1000}) {
      RequestParser parser(512);
      parser.Add("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
      ASSERT_EQ(parser.Advance(), RequestParser::State::kHeadDone);
      parser.ReadBody(1000, offset);
      const std::string text(40, 'x');
      std::string bytes = "28\r\n" + text + "\r\n14\r\n" + text.substr(20) + "\r\n0\r\n\r\n";
      for (; !bytes.empty(); bytes.erase(0, piece)) {
        parser.Add(std::string_view(bytes).substr(0, piece));
        (void)parser.Advance();
      }
      ASSERT_EQ(parser.Advance(), RequestParser::State::kDone);
      HttpRequest request = parser.TakeRequest();
      EXPECT_EQ(request.body.view(), text + text.substr(20));
      HttpBody taken = std::move(request.body);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(taken.data() + offset) % HttpBody::kAlignment, 0U);
      EXPECT_EQ(taken.view(), text + text.substr(20));
    }
  }
}

TEST(RequestParser, HeadersOfOneNameAreOneWithCommasWhereThatIsAskedFor) {
  HttpRequest request;
  request.headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(request.AllOf("a"), "1,3");
  EXPECT_EQ(request.AllOf("b"), "2");
  EXPECT_EQ(request.AllOf("c"), "");
}

TEST(RequestParser, HeadersAreKeptInOrderAndTrailersAreNot) {
  RequestParser parser(512);
  parser.Add(
      "POST / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a:  2 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-B: 3\r\n\r\n");
  ASSERT_EQ(parser.Advance(), RequestParser::State::kHeadDone);
  parser.ReadBody(10);
  ASSERT_EQ(parser.Advance(), RequestParser::State::kDone);
  const HttpRequest& request = parser.request();
  EXPECT_EQ(*request.Header("x-a"), "1");
  EXPECT_EQ(request.headers[2], (std::pair<std::string, std::string>("x-a", "2")));
  EXPECT_EQ(request.Header("x-b"), nullptr);
}

TEST(RequestParser, BoundsHoldHoweverBytesAreCut) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (const size_t piece : {1, 7, 100, 5000}) {
    EXPECT_EQ(Parse(head + "X: " + std::string(600, 'x'), piece), std::vector<std::string>{"431"});
    EXPECT_EQ(Parse(head + "X: " + std::string(600, 'x') + "\r\n\r\n", piece), std::vector<std::string>{"431"});
    EXPECT_EQ(Parse(head + "Content-Length: 101\r\n\r\n", piece), std::vector<std::string>{"413"});
    EXPECT_EQ(Parse(chunked + "64\r\n" + std::string(100, 'b') + "\r\n1\r\nb\r\n0\r\n\r\n", piece),
              std::vector<std::string>{"413"});
    EXPECT_EQ(Parse(chunked + "1;" + std::string(6000, 'e'), piece), std::vector<std::string>{"431"});
    std::string trailers;
    for (int i = 0; i < 1000; ++i) trailers += "a: b\r\n";
    EXPECT_EQ(Parse(chunked + "0\r\n" + trailers, piece), std::vector<std::string>{"431"});
  }
}

}  // namespace
}  // namespace hearth::server
