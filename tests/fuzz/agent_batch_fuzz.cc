// SPDX-License-Identifier: BSD-3-Clause
// Batches of a host's agent, valid or not, as the appliance processes them.
#include <cstdint>
#include <memory>

#include "appliance/daemon/intake/agent_facts.h"
#include "rocescope/v1/agent.pb.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  auto batch = std::make_unique<v1::AgentBatch>();
  if (!batch->ParseFromArray(data, static_cast<int>(size))) return 0;
  constexpr Timestamp kNow = FromNanoseconds(1'700'000'000'000'000'000);
  AgentFactsBuilder builder([](const std::string& host) { return host; });
  std::vector<CounterRecord> counters;
  builder.Add({.host = "a", .session = 1, .batch = std::move(batch), .arrival = kNow}, counters);
  for (const CounterRecord& record : counters) {
    Require(record.entity.node == "a", "a host reports only itself");
    Require(record.entity.kind != EntityKind::kPort, "a host reports no switch ports");
    Require(record.event_time <= kNow, "no event is in the future");
    Require(record.entity.priority < 8 || record.entity.priority == CounterEntity::kAllPriorities,
            "the priority is valid");
  }
  Require(counters.size() + builder.counts().malformed == builder.counts().readings,
          "the counts of readings add up");
  for (const RdmaDump& dump : builder.Facts().rdma) {
    for (const RdmaQueuePair& one : dump.queue_pairs) {
      Require(one.local.value <= k24BitMask, "a QPN has 24 bits");
    }
  }
  return 0;
}
