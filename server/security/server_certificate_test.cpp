#include "server/security/server_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ServerCertificateTest : public testing::Test {
 protected:
  ServerCertificateTest() { fs::create_directories(folder_); }
  ~ServerCertificateTest() override { fs::remove_all(folder_); }

  std::string File(const std::string& name) const { return folder_ / name; }

  // NAME.crt and NAME.key, made by the openssl of the command line.
  void Make(const std::string& name, const std::string& more = "-newkey ec -pkeyopt ec_paramgen_curve:P-256") const {
    const std::string command =
        absl::StrCat("openssl req -x509 -nodes -subj /CN=", name, " -days 2 ", more, " -keyout ", File(name),
                     ".key -out ", File(name), ".crt 2>", File("openssl.log"));
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  CertificateFiles Files(const std::string& name) const { return {File(name + ".crt"), File(name + ".key"), ""}; }

  void ExpectWrong(const CertificateFiles& files, const std::string& file, const std::string& reason) const {
    const auto loaded = ServerCertificate::Load(files);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(std::string(loaded.status().message()), HasSubstr(file));
    EXPECT_THAT(std::string(loaded.status().message()), HasSubstr(reason));
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("server_certificate_test." + std::to_string(getpid()));
};

TEST_F(ServerCertificateTest, APairThatBelongsTogetherIsTaken) {
  Make("a");
  const auto loaded = ServerCertificate::Load(Files("a"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_NE((*loaded)->current()->context, nullptr);
}

TEST_F(ServerCertificateTest, WhatIsWrongIsSaidWithItsFile) {
  Make("a");
  Make("b");
  Make("weak", "-newkey rsa:1024");
  Make("secret", "-newkey rsa:2048 -passout pass:x");
  ExpectWrong({File("a.crt"), File("b.key"), ""}, "b.key", "the key is not that of");
  ExpectWrong({File("none"), File("a.key"), ""}, "none", "No such file");
  ExpectWrong({File("a.key"), File("a.key"), ""}, "a.key", "no certificate");
  ExpectWrong({File("a.crt"), File("a.crt"), ""}, "a.crt", "no private key");
  ExpectWrong({File("a.crt"), File("a.key"), File("b.key")}, "b.key", "no certificate");
  ExpectWrong(Files("weak"), "weak.crt", "too small");
  std::ofstream(File("a.crt"), std::ios::app) << "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  ExpectWrong(Files("a"), "a.crt", "no certificate in PEM");
}

TEST_F(ServerCertificateTest, AKeyWithAPassphraseIsRefusedWithoutAsking) {
  Make("a");
  ASSERT_EQ(
      std::system(absl::StrCat("openssl pkey -aes256 -passout pass:x -in ", File("a.key"), " -out ", File("locked.key"))
                      .c_str()),
      0);
  ExpectWrong({File("a.crt"), File("locked.key"), ""}, "locked.key", "without a passphrase");
}

TEST_F(ServerCertificateTest, NewFilesCountAndWrongOnesDoNot) {
  Make("a");
  Make("b");
  const auto loaded = ServerCertificate::Load(Files("a"));
  const auto before = (*loaded)->current();
  (*loaded)->Reload();
  EXPECT_EQ((*loaded)->current(), before);  // the same files
  fs::copy_file(File("b.crt"), File("a.crt"), fs::copy_options::overwrite_existing);
  (*loaded)->Reload();
  EXPECT_EQ((*loaded)->current(), before);  // the other one's key
  fs::copy_file(File("b.key"), File("a.key"), fs::copy_options::overwrite_existing);
  (*loaded)->Reload();
  EXPECT_NE((*loaded)->current()->serial, before->serial);
}

}  // namespace
}  // namespace hearth::server
