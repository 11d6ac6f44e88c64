// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_watch.h"

#include <gmock/gmock.h>

#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EventWatchTest : public ServiceTest {
 protected:
  EventWatchTest() { OpenDaemon(kFabric); }

  Snapshot ACrash() const {
    const topology::Fabric& fabric = *daemon_->fabric();
    const topology::NicIndex nic = fabric.FindNicByDevice(fabric.FindNode("host0"), "mlx5_0");
    Snapshot snapshot;
    snapshot.findings = std::make_shared<const Findings>(
        Findings{{.kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic}, .confidence = 1}});
    return snapshot;
  }
  // Returns the kinds of the events.
  std::vector<v1::Event::Kind> Look(Snapshot snapshot, uint32_t restarted) {
    Publish(std::move(snapshot), restarted);
    std::vector<v1::Event::Kind> kinds;
    for (const v1::Event& event : watch_.LookAt(*service_->views().Latest())) {
      kinds.push_back(event.kind());
    }
    return kinds;
  }

  EventWatch watch_;
};

TEST_F(EventWatchTest, FaultThatDisappearsIsWithdrawn) {
  EXPECT_THAT(Look(ACrash(), 0), ElementsAre(v1::Event::KIND_FAULT_STARTED));
  EXPECT_THAT(Look(ACrash(), 0), IsEmpty());
  EXPECT_THAT(Look({}, 0), ElementsAre(v1::Event::KIND_FAULT_WITHDRAWN));
}

TEST_F(EventWatchTest, NothingIsWithdrawnWhenTheAnalysisRestarts) {
  EXPECT_THAT(Look(ACrash(), 0), ElementsAre(v1::Event::KIND_FAULT_STARTED));
  EXPECT_THAT(Look({}, 1), IsEmpty());
  EXPECT_THAT(Look(ACrash(), 1), ElementsAre(v1::Event::KIND_FAULT_STARTED));
  EXPECT_THAT(Look({}, 1), ElementsAre(v1::Event::KIND_FAULT_WITHDRAWN))
      << "without a restart in between";
}

}  // namespace
}  // namespace rocescope
