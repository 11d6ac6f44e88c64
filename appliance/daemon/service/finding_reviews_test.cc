// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/finding_reviews.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Times are minutes after an arbitrary start.
Timestamp Minute(double minutes) {
  return FromNanoseconds(1'700'000'000'000'000'000 + static_cast<int64_t>(minutes * 60e9));
}

v1::Finding Fault(double start, std::optional<double> end = std::nullopt,
                  const std::string& direction = "leaf1:3") {
  v1::Finding finding;
  finding.set_kind("gray_loss");
  finding.set_place("leaf1:3-spine0:1");
  finding.set_direction(direction);
  *finding.mutable_start_time() = TimestampMessage(Minute(start));
  if (end) *finding.mutable_end_time() = TimestampMessage(Minute(*end));
  return finding;
}

class FindingReviewsTest : public testing::Test {
 protected:
  FindingReviewsTest() { Restart(); }

  // The process starts again, with the file if there is one.
  void Restart() {
    reviews_.reset();
    file_.reset();
    if (!path_.empty())
      file_ = FindingFile::Open(path_, [](Severity, const std::string&) {}).value();
    reviews_ = std::make_unique<FindingReviews>(
        file_.get(), [this] { return now_; },
        [this](Severity, const std::string& text) { log_ += text + "\n"; });
  }
  void Look(double minute, const std::vector<v1::Finding>& findings, uint32_t restarts = 0) {
    v1::ReplayReport report;
    for (const v1::Finding& finding : findings) *report.add_findings() = finding;
    reviews_->Look(report, Minute(minute), restarts);
  }
  void Acknowledge(const v1::Finding& finding, double minute, const std::string& user = "ada") {
    now_ = Minute(minute);
    ASSERT_TRUE(reviews_->Acknowledge(finding, Minute(minute), user, "ticket 7"));
  }
  // Returns the user who acknowledged the finding; empty: nobody.
  std::string Owner(v1::Finding finding) const {
    reviews_->Decorate(finding);
    return finding.acknowledgement().user();
  }
  ServiceResult<Mute> AddMute(const std::string& direction, Duration duration) {
    return reviews_->AddMute("gray_loss", "leaf1:3-spine0:1", direction, duration, "bob", "spare");
  }

  Timestamp now_ = Minute(0);
  std::string path_;
  std::string log_;
  std::unique_ptr<FindingFile> file_;
  std::unique_ptr<FindingReviews> reviews_;
};

TEST_F(FindingReviewsTest, AcknowledgementSaysWhoAndWhen) {
  Acknowledge(Fault(0), 3);
  v1::Finding finding = Fault(0);
  reviews_->Decorate(finding);
  const v1::Acknowledgement& mark = finding.acknowledgement();
  EXPECT_EQ(mark.user(), "ada");
  EXPECT_EQ(mark.comment(), "ticket 7");
  EXPECT_EQ(TimeOf(mark.acknowledge_time()), Minute(3));
  EXPECT_EQ(TimeOf(mark.start_time()), Minute(0));
  EXPECT_TRUE(mark.ongoing());
  EXPECT_FALSE(finding.has_mute());
  EXPECT_THAT(log_, HasSubstr("ada acknowledged gray_loss at leaf1:3-spine0:1, direction leaf1:3: "
                              "\"ticket 7\""));
  Acknowledge(Fault(0), 4, "bob");
  EXPECT_EQ(Owner(Fault(0)), "bob") << "a further call replaces the first";
  EXPECT_THAT(reviews_->Acknowledgements(), SizeIs(1));
}

TEST_F(FindingReviewsTest, OtherFaultsAreNotAcknowledged) {
  Acknowledge(Fault(0), 3);
  EXPECT_EQ(Owner(Fault(0, std::nullopt, "spine0:1")), "") << "the other direction";
  v1::Finding other = Fault(0);
  other.set_kind("flap");
  EXPECT_EQ(Owner(other), "");
  other = Fault(0);
  other.set_place("leaf1:4-spine0:1");
  EXPECT_EQ(Owner(other), "");
}

// Later telemetry changes the time of the first sign.
TEST_F(FindingReviewsTest, RevisedStartKeepsTheAcknowledgement) {
  Acknowledge(Fault(20), 30);
  EXPECT_EQ(Owner(Fault(2)), "ada") << "earlier";
  EXPECT_EQ(Owner(Fault(29)), "ada") << "later, but before the call";
  EXPECT_EQ(Owner(Fault(34)), "ada") << "within five minutes";
  EXPECT_EQ(Owner(Fault(36)), "") << "another occurrence";
}

TEST_F(FindingReviewsTest, FaultThatComesBackIsNotAcknowledged) {
  Acknowledge(Fault(0), 3);
  Look(8, {Fault(0)});
  EXPECT_EQ(Owner(Fault(0)), "ada");
  EXPECT_EQ(Owner(Fault(0, 10)), "ada") << "also after its end";
  Look(11, {Fault(0, 10)});
  EXPECT_FALSE(reviews_->Acknowledgements()[0].is_ongoing);
  const std::vector<v1::Finding> both = {Fault(0, 10), Fault(16)};
  Look(17, both);
  EXPECT_EQ(Owner(both[0]), "ada");
  EXPECT_EQ(Owner(both[1]), "");
  Acknowledge(both[1], 18, "bob");
  EXPECT_EQ(Owner(both[0]), "ada") << "each occurrence has its own";
  EXPECT_EQ(Owner(both[1]), "bob");
}

TEST_F(FindingReviewsTest, LongOccurrenceStaysAcknowledgedWhenItsStartIsForgotten) {
  Acknowledge(Fault(0), 3);
  for (int minute = 4; minute < 200; ++minute) Look(minute, {Fault(0)});
  EXPECT_EQ(Owner(Fault(150)), "ada") << "the analysis revised the start by hours";
}

// The event that reports the start of a fault has no end.
TEST_F(FindingReviewsTest, EventOfAnEarlierOccurrenceIsNotAcknowledged) {
  Acknowledge(Fault(100), 103);
  v1::Finding earlier = Fault(0);
  reviews_->Decorate(earlier, Minute(1));
  EXPECT_FALSE(earlier.has_acknowledgement());
}

TEST_F(FindingReviewsTest, FaultFoundAgainAfterARestartOfTheAnalysisIsTheSame) {
  Look(1, {Fault(0)}, 0);
  Acknowledge(Fault(0), 3);
  Look(30, {}, 1);  // the analysis restarted, and has found nothing yet
  Look(40, {Fault(38)}, 1);
  EXPECT_EQ(Owner(Fault(38)), "ada");
  Look(60, {Fault(38)}, 1);
  Look(100, {Fault(38, 62)}, 1);
  Look(110, {Fault(109)}, 1);
  EXPECT_EQ(Owner(Fault(109)), "") << "it came back later";
}

TEST_F(FindingReviewsTest, FaultFoundLongAfterARestartIsAnotherOne) {
  Look(1, {Fault(0)}, 0);
  Acknowledge(Fault(0), 3);
  Look(30, {}, 1);
  Look(46, {Fault(44)}, 1);  // more than 15 minutes later
  EXPECT_EQ(Owner(Fault(44)), "");
  EXPECT_FALSE(reviews_->Acknowledgements()[0].is_ongoing);
}

TEST_F(FindingReviewsTest, FaultFoundAfterALongStandstillIsAnotherOne) {
  Look(1, {Fault(0)}, 0);
  Acknowledge(Fault(0), 3);
  Look(3, {Fault(0)}, 0);
  Look(3000, {}, 1);  // the appliance was off for two days
  Look(3005, {Fault(3003)}, 1);
  EXPECT_EQ(Owner(Fault(3003)), "");
}

// A finding that is withdrawn has no end.
TEST_F(FindingReviewsTest, WithdrawnFindingIsOver) {
  Look(1, {Fault(0)});
  Acknowledge(Fault(0), 3);
  Look(5, {});
  EXPECT_TRUE(reviews_->Acknowledgements()[0].is_ongoing) << "it may come back";
  Look(9, {});
  EXPECT_FALSE(reviews_->Acknowledgements()[0].is_ongoing);
}

TEST_F(FindingReviewsTest, MuteCoversAllOccurrencesUntilItExpires) {
  now_ = Minute(0);
  ASSERT_TRUE(AddMute("leaf1:3", std::chrono::hours(2)));
  v1::Finding finding = Fault(50);
  reviews_->Decorate(finding);
  EXPECT_EQ(finding.mute().user(), "bob");
  EXPECT_EQ(TimeOf(finding.mute().expire_time()), Minute(120));
  EXPECT_FALSE(finding.has_acknowledgement());
  EXPECT_FALSE(reviews_->IsMuted(Fault(0, std::nullopt, "spine0:1"))) << "the other direction";
  now_ = Minute(119.99);
  EXPECT_TRUE(reviews_->IsMuted(Fault(0)));
  EXPECT_TRUE(reviews_->IsMuted(Fault(100)));
  now_ = Minute(120);
  EXPECT_FALSE(reviews_->IsMuted(Fault(0)));
  reviews_->Decorate(finding);
  EXPECT_FALSE(finding.has_mute());
  EXPECT_THAT(reviews_->Mutes(false), IsEmpty());
  EXPECT_THAT(reviews_->Mutes(true), SizeIs(1));
  v1::Mute message;
  reviews_->Fill(reviews_->Mutes(true)[0], message);
  EXPECT_TRUE(message.expired());
}

TEST_F(FindingReviewsTest, MuteThatWasSetWhileTheClockWasAheadEndsWhenItIsCorrected) {
  constexpr double kYear = 365 * 24 * 60;
  now_ = Minute(9 * kYear);
  ASSERT_TRUE(AddMute("", std::chrono::hours(24)));
  EXPECT_TRUE(reviews_->IsMuted(Fault(0)));
  now_ = Minute(0);
  EXPECT_FALSE(reviews_->IsMuted(Fault(0)));
  EXPECT_THAT(reviews_->Mutes(false), IsEmpty());
}

TEST_F(FindingReviewsTest, MuteWithoutDirectionCoversAllAndTheLastToEndIsShown) {
  ASSERT_TRUE(AddMute("", std::chrono::hours(1)));
  EXPECT_TRUE(reviews_->IsMuted(Fault(0)));
  EXPECT_TRUE(reviews_->IsMuted(Fault(0, std::nullopt, "")));
  ASSERT_TRUE(AddMute("leaf1:3", std::chrono::hours(3)));
  v1::Finding finding = Fault(0);
  reviews_->Decorate(finding);
  EXPECT_EQ(finding.mute().direction(), "leaf1:3");
  finding = Fault(0, std::nullopt, "spine0:1");
  reviews_->Decorate(finding);
  EXPECT_EQ(finding.mute().direction(), "");
  ASSERT_TRUE(AddMute("leaf1:3", std::chrono::minutes(1)));
  EXPECT_THAT(reviews_->Mutes(true), SizeIs(2)) << "a further call replaces the first";
}

TEST_F(FindingReviewsTest, BothCanBeWithdrawn) {
  Acknowledge(Fault(0), 3);
  Acknowledge(Fault(0, std::nullopt, ""), 3);
  Acknowledge(Fault(0, std::nullopt, "spine0:1"), 3);
  const std::string kind = "gray_loss";
  const std::string place = "leaf1:3-spine0:1";
  EXPECT_THAT(reviews_->Unacknowledge(kind, place, "leaf1:3", Minute(40), "eve"), IsEmpty())
      << "not active then";
  EXPECT_THAT(reviews_->Unacknowledge(kind, place, "leaf1:3", Minute(1), "eve"), SizeIs(1));
  EXPECT_THAT(reviews_->Unacknowledge(kind, place, "leaf1:3", std::nullopt, "eve"), IsEmpty());
  EXPECT_THAT(reviews_->Unacknowledge("flap", place, "", std::nullopt, "eve"), IsEmpty());
  EXPECT_THAT(reviews_->Unacknowledge(kind, place, "", std::nullopt, "eve"), SizeIs(2));
  EXPECT_EQ(Owner(Fault(0)), "");
  EXPECT_THAT(log_, HasSubstr("eve withdrew the acknowledgement of gray_loss"));
  ASSERT_TRUE(AddMute("", std::chrono::hours(1)));
  EXPECT_EQ(reviews_->Unmute(kind, place, "leaf1:3", "eve"), std::nullopt);
  EXPECT_TRUE(reviews_->Unmute(kind, place, "", "eve"));
  EXPECT_FALSE(reviews_->IsMuted(Fault(0)));
  EXPECT_EQ(reviews_->Unmute(kind, place, "", "eve"), std::nullopt);
  EXPECT_THAT(log_, HasSubstr("eve unmuted gray_loss at leaf1:3-spine0:1"));
}

TEST_F(FindingReviewsTest, FullTableDropsWhatIsOverFirst) {
  const auto mute = [&](const std::string& place, Duration duration) {
    return reviews_->AddMute("flap", place, "", duration, "ada", "");
  };
  ASSERT_TRUE(mute("old", std::chrono::minutes(1)));
  ASSERT_TRUE(mute("older", std::chrono::seconds(30)));
  for (size_t i = 2; i < FindingReviews::kMostKept; ++i) {
    ASSERT_TRUE(mute(fmt::format("p{}", i), std::chrono::hours(1)));
  }
  EXPECT_EQ(mute("new", std::chrono::hours(1)).error().fault, ServiceFault::kTooMany)
      << "all are active";
  EXPECT_TRUE(mute("old", std::chrono::minutes(1))) << "it replaces a mute";
  now_ = Minute(2);
  EXPECT_TRUE(mute("new", std::chrono::hours(1)));
  const std::vector<Mute> all = reviews_->Mutes(true);
  EXPECT_THAT(all, SizeIs(FindingReviews::kMostKept));
  const auto has = [&](const std::string& place) {
    return std::ranges::find(all, place, &Mute::place) != all.end();
  };
  EXPECT_FALSE(has("older")) << "the first to expire";
  EXPECT_TRUE(has("old"));

  const auto fault = [](const std::string& place, std::optional<double> end = std::nullopt) {
    v1::Finding finding = Fault(0, end);
    finding.set_place(place);
    return finding;
  };
  for (size_t i = 0; i < FindingReviews::kMostKept; ++i) {
    ASSERT_TRUE(reviews_->Acknowledge(
        fault(fmt::format("p{}", i), i == 7 ? std::optional(1.0) : std::nullopt), Minute(2), "ada",
        ""));
  }
  EXPECT_TRUE(reviews_->Acknowledge(fault("new"), Minute(2), "ada", ""));
  EXPECT_EQ(Owner(fault("p7", 1)), "") << "the only one that is over";
  EXPECT_EQ(reviews_->Acknowledge(fault("newer"), Minute(2), "ada", "").error().fault,
            ServiceFault::kTooMany);
  EXPECT_TRUE(reviews_->Acknowledge(fault("p8"), Minute(2), "ada", "")) << "it replaces one";
}

TEST_F(FindingReviewsTest, WithoutAFileNothingIsDurable) {
  Acknowledge(Fault(0), 3);
  EXPECT_THAT(reviews_->WaitUntilStored(), HasSubstr("no `findings.file`"));
  EXPECT_EQ(reviews_->problem(), "");
  Restart();
  EXPECT_EQ(Owner(Fault(0)), "");
}

class FindingReviewsInAFileTest : public FindingReviewsTest {
 protected:
  FindingReviewsInAFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-reviews-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "findings.db").string();
    Restart();
  }
  ~FindingReviewsInAFileTest() override {
    reviews_.reset();
    file_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
};

TEST_F(FindingReviewsInAFileTest, BothSurviveARestart) {
  Look(1, {Fault(0)});
  Acknowledge(Fault(0), 3);
  ASSERT_TRUE(AddMute("", std::chrono::hours(2)));
  EXPECT_EQ(reviews_->WaitUntilStored(), "");
  Restart();
  EXPECT_EQ(Owner(Fault(0)), "ada");
  EXPECT_TRUE(reviews_->IsMuted(Fault(0)));
  // After the restart, the ongoing fault has another start.
  Look(61, {});
  Look(64, {Fault(62)});
  EXPECT_EQ(Owner(Fault(62)), "ada");
  now_ = Minute(124);
  EXPECT_FALSE(reviews_->IsMuted(Fault(62))) << "it expired";
}

TEST_F(FindingReviewsInAFileTest, FaultThatEndedBeforeARestartDoesNotComeBackAcknowledged) {
  Look(1, {Fault(0)});
  Acknowledge(Fault(0), 3);
  Look(5, {Fault(0, 4)});
  EXPECT_EQ(reviews_->WaitUntilStored(), "");
  Restart();
  Look(64, {Fault(62)});
  EXPECT_EQ(Owner(Fault(62)), "");
}

TEST_F(FindingReviewsInAFileTest, FileThatCannotBeWrittenIsAProblem) {
  std::filesystem::create_directories(path_);
  Acknowledge(Fault(0), 3);
  EXPECT_THAT(reviews_->WaitUntilStored(), HasSubstr("is a folder"));
  EXPECT_THAT(reviews_->problem(), HasSubstr("is a folder"));
  EXPECT_EQ(Owner(Fault(0)), "ada") << "in memory";
}

}  // namespace
}  // namespace rocescope
