// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/tls_reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/certificates.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TlsReloadTest : public testing::Test {
 protected:
  TlsReloadTest() {
    certificates_.Sign("appliance", "-addext subjectAltName=IP:127.0.0.1");
    reload_.emplace(std::vector<TlsReload::Server>{{.key = "http",
                                                    .texts = *ReadTls(Files(), "http"),
                                                    .set =
                                                        [this](const TlsTexts&) {
                                                          ++sets_;
                                                          return Status();
                                                        }}},
                    [this](Severity, const std::string& text) { notices_.push_back(text); });
  }
  ~TlsReloadTest() override { std::filesystem::remove_all(folder_); }

  TlsConfig Files() const {
    return {.certificate = certificates_.Path("appliance.pem"),
            .key = certificates_.Path("appliance.key"),
            .client_ca = certificates_.Path("ca.pem")};
  }
  void LookAtOnce() { reload_->Look(TlsReload::Clock::now(), /*at_once=*/true); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
  const test::Certificates certificates_{folder_};
  int sets_ = 0;
  std::vector<std::string> notices_;
  std::optional<TlsReload> reload_;
};

TEST_F(TlsReloadTest, UnchangedFilesAreNotSetAgain) {
  LookAtOnce();
  LookAtOnce();
  EXPECT_EQ(sets_, 0);
  EXPECT_THAT(notices_, ElementsAre());
}

TEST_F(TlsReloadTest, ChangedFilesAreSet) {
  certificates_.Sign("appliance", "-addext subjectAltName=IP:127.0.0.2");
  LookAtOnce();
  LookAtOnce();
  EXPECT_EQ(sets_, 1);
  EXPECT_THAT(notices_, ElementsAre("the certificates of `http` were loaded"));
}

TEST_F(TlsReloadTest, MissingFilesAreAProblemUntilTheyExistAgain) {
  std::filesystem::rename(certificates_.Path("appliance.pem"), certificates_.Path("away"));
  LookAtOnce();
  EXPECT_THAT(reload_->States()[0].problem, HasSubstr("appliance.pem"));
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("the previous ones stay in effect")));
  std::filesystem::rename(certificates_.Path("away"), certificates_.Path("appliance.pem"));
  LookAtOnce();
  EXPECT_EQ(reload_->States()[0].problem, "");
  EXPECT_EQ(sets_, 1);
}

TEST_F(TlsReloadTest, ExpiredCertificateDoesNotReplaceAValidOne) {
  certificates_.Sign("appliance", "-addext subjectAltName=IP:127.0.0.1", "", -1);
  LookAtOnce();
  EXPECT_EQ(sets_, 0);
  EXPECT_THAT(reload_->States()[0].problem, HasSubstr("appliance.pem: the certificate expired at"));
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("the previous ones stay in effect")));
  // Other files take effect meanwhile.
  const std::string authority = certificates_.Read("ca.pem");
  std::ofstream(certificates_.Path("ca.pem")) << authority << authority;
  LookAtOnce();
  EXPECT_EQ(sets_, 1);
  EXPECT_THAT(reload_->States()[0].problem, HasSubstr("expired at"));
  certificates_.Sign("appliance", "-addext subjectAltName=IP:127.0.0.2");
  LookAtOnce();
  EXPECT_EQ(sets_, 2);
  EXPECT_EQ(reload_->States()[0].problem, "");
}

}  // namespace
}  // namespace rocescope
