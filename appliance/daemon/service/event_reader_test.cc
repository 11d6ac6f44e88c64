// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_reader.h"

#include <gmock/gmock.h>

#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class EventReaderTest : public ServiceTest {
 protected:
  EventReaderTest() { OpenDaemon(kFabric); }

  void Happen(const std::string& sentence) {
    v1::Event event;
    event.set_sentence(sentence);
    service_->events().Append(event);
  }
  static std::vector<std::string> Sentences(EventReader& reader) {
    std::vector<std::string> sentences;
    for (const auto& event : reader.Next())
      sentences.push_back(event->kind() == v1::Event::KIND_GAP ? "gap" : event->sentence());
    return sentences;
  }
};

TEST_F(EventReaderTest, ReturnsEachEventAfterItsCursorOnce) {
  Happen("one");
  const uint64_t first = service_->events().last();
  Happen("two");
  EventReader reader(*service_, LocalCaller(), first);
  EventReader from_now_on(*service_, LocalCaller(), 0);
  EXPECT_THAT(Sentences(reader), ElementsAre("two"));
  EXPECT_THAT(Sentences(reader), IsEmpty());
  Happen("three");
  EXPECT_THAT(Sentences(reader), ElementsAre("three"));
  EXPECT_THAT(Sentences(from_now_on), ElementsAre("three"));
}

TEST_F(EventReaderTest, AnnouncesEachSnapshotOnceAfterTheEvents) {
  EventReader reader(*service_, LocalCaller(), 0);
  Publish(TwoJobs());
  Happen("one");
  const auto events = reader.Next();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0]->sentence(), "one");
  EXPECT_EQ(events[1]->kind(), v1::Event::KIND_SNAPSHOT);
  EXPECT_EQ(events[1]->cursor(), events[0]->cursor()) << "a client can resume after it";
  EXPECT_EQ(events[1]->snapshot().version(), 1u);
  EXPECT_THAT(Sentences(reader), IsEmpty());
  Happen("two");
  EXPECT_THAT(Sentences(reader), ElementsAre("two")) << "the snapshot has not changed the cursor";
}

// Otherwise, a client that starts while a fault is active would not know of it.
TEST_F(EventReaderTest, BeginsWithTheActiveFaults) {
  Snapshot snapshot = TwoJobs();
  Finding active = {.kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, 0}, .confidence = 1};
  Finding ended = active;
  ended.until = Timestamp(std::chrono::seconds(9));
  snapshot.findings = std::make_shared<const Findings>(Findings{active, ended});
  Publish(std::move(snapshot));
  EventReader reader(*service_, LocalCaller(), 0);
  const auto events = reader.Next();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0]->kind(), v1::Event::KIND_SNAPSHOT);
  EXPECT_EQ(events[1]->kind(), v1::Event::KIND_FAULT_ACTIVE);
  EXPECT_EQ(events[1]->finding().kind(), "nic_crash");
  EXPECT_EQ(events[1]->sentence(), events[1]->finding().sentence());
  EXPECT_EQ(events[1]->cursor(), service_->events().last());
  EXPECT_THAT(reader.Next(), IsEmpty());
  EventReader resumed(*service_, LocalCaller(), events[1]->cursor());
  EXPECT_THAT(resumed.Next(), SizeIs(1)) << "the snapshot only";
  EventReader restarted(*service_, LocalCaller(), 7);  // a cursor of an earlier process
  const auto all = restarted.Next();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0]->kind(), v1::Event::KIND_GAP);
  EXPECT_EQ(all[2]->kind(), v1::Event::KIND_FAULT_ACTIVE);
}

TEST_F(EventReaderTest, ReportsARestart) {
  EventReader reader(*service_, LocalCaller(), 7);  // a cursor of an earlier process
  Happen("one");
  EXPECT_THAT(Sentences(reader), ElementsAre("gap", "one"));
}

TEST_F(EventReaderTest, ReturnsManyEventsInSeveralCalls) {
  EventReader reader(*service_, LocalCaller(), 0);
  for (int i = 0; i < 100; ++i) Happen("e");
  const size_t first = reader.Next().size();
  EXPECT_LT(first, 100u);
  EXPECT_EQ(first + reader.Next().size(), 100u);
}

}  // namespace
}  // namespace rocescope
