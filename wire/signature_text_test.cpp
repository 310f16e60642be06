#include "wire/signature_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Signature(int parameters, const std::string& result) {
  return SignatureText(std::vector<ParameterText>(parameters, {"Tensor", "x"}), result);
}

TEST(SignatureText, IsWhatAnnotationsSay) {
  const std::vector<ParameterText> parameters = {{"__torch__.___torch_mangle_7.M", "m"}, {"int", "n", true}};
  EXPECT_EQ(SignatureText(parameters, "Tensor"), "(__torch__.M m, int n=...) -> Tensor");
}

TEST(SignatureText, LongSignaturesThatDifferAtTheirEndsDiffer) {
  const Descriptions before = {{"f", Signature(100, "Tensor")}};
  EXPECT_THAT(Differences("method", before, before), IsEmpty());
  const auto differences = Differences("method", before, {{"f", Signature(100, "int")}});
  ASSERT_THAT(differences, SizeIs(1));
  EXPECT_THAT(differences[0],
              AllOf(HasSubstr("method 'f' was ..."), HasSubstr("-> Tensor, is ..."), HasSubstr("-> int")));
}

TEST(SignatureText, NoMoreOfALongSignatureIsWrittenThanMay) {
  const std::string text = Signature(100, "Tensor");
  EXPECT_THAT(Differences("method", {}, {{"f", text}}),
              ElementsAre("method 'f' is new: " + text.substr(0, kLongestSignature) + "..."));
}

}  // namespace
}  // namespace hearth
