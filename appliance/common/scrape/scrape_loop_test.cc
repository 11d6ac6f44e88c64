// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/scrape/scrape_loop.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "appliance/daemon/http/http_server.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<HttpServer> Exporter(const std::string& text) {
  auto server =
      HttpServer::Open({.address = IpAddress::FromV4(0x7f000001)}, [text](const HttpRequest&) {
        return HttpResponse{.content_type = "text/plain", .body = text};
      });
  EXPECT_TRUE(server);
  (*server)->Start();
  return *std::move(server);
}

ScrapeTarget TargetAt(uint16_t port) {
  return {.url = fmt::format("http://127.0.0.1:{}/metrics", port),
          .period = std::chrono::milliseconds(10)};
}

// Waits for at least this many.
std::vector<CounterRecord> RecordsOf(ScrapeLoop& loop, size_t least) {
  std::atomic<bool> stop = false;
  std::thread thread([&] { loop.Run(stop); });
  std::vector<CounterRecord> records;
  while (records.size() < least) {
    ExchangedBatch* const batch = loop.records().Take();
    if (batch == nullptr) {
      std::this_thread::yield();
      continue;
    }
    records.insert(records.end(), batch->records.counters.begin(), batch->records.counters.end());
    loop.records().GiveBack(batch);
  }
  loop.records().Abandon();
  stop = true;
  thread.join();
  return records;
}

TEST(ScrapeLoop, ProducesRecordsAndCountsAllSamples) {
  const auto exporter = Exporter(
      "fabric_port_tx_bytes{node=\"leaf0\",port=\"Ethernet1\"} 7 1395066363000\n"
      "up 1\nnonsense\n");
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(exporter->port())}});
  ASSERT_TRUE(loop);
  const std::vector<CounterRecord> records = RecordsOf(**loop, 2);
  EXPECT_EQ(records[0].entity.node, "leaf0");
  EXPECT_EQ(records[0].value, 7u);
  EXPECT_EQ(ToNanoseconds(records[0].event_time), 1395066363000'000'000);
  const Ledger ledger = (*loop)->Statistics().frames.ledger;
  EXPECT_TRUE(ledger.Balances());
  EXPECT_EQ(ledger.decoded, ledger.filtered);
  EXPECT_EQ(ledger.decoded, ledger.DroppedTotal());
  EXPECT_GE(ledger.decoded, 2u);
  EXPECT_THAT((*loop)->Problems(), ElementsAre());
}

TEST(ScrapeLoop, ATargetWithANodeReportsOnlyForIt) {
  const auto exporter = Exporter(
      "fabric_port_fcs_errors{node=\"leaf0\",port=\"Ethernet1\"} 7\n"
      "fabric_nic_tx_bytes{port=\"mlx5_0\"} 1\n"
      "fabric_nic_rx_bytes{node=\"Host0.example.org\",port=\"mlx5_0\"} 2\n");
  ScrapeTarget target = TargetAt(exporter->port());
  target.node = "host0";
  const auto loop = ScrapeLoop::Make({.targets = {target}});
  ASSERT_TRUE(loop);
  for (const CounterRecord& record : RecordsOf(**loop, 4)) {
    EXPECT_EQ(record.entity.node, "host0");
    EXPECT_EQ(record.entity.kind, EntityKind::kNic);
  }
  const Ledger ledger = (*loop)->Statistics().frames.ledger;
  EXPECT_TRUE(ledger.Balances());
  EXPECT_EQ(ledger.decoded, 2 * ledger.DroppedTotal());
  const uint64_t dropped = ledger.dropped[static_cast<size_t>(DropReason::kForeignNode)];
  EXPECT_EQ(dropped, ledger.DroppedTotal());
  const std::vector<ForeignNodes> foreign = (*loop)->Foreign();
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_EQ(foreign[0].url, target.url);
  EXPECT_EQ(foreign[0].node, "host0");
  EXPECT_EQ(foreign[0].samples, dropped);
  EXPECT_THAT(foreign[0].names, ElementsAre("leaf0"));
  EXPECT_FALSE(foreign[0].more);
  EXPECT_GT(foreign[0].last_received, Timestamp());
}

TEST(ScrapeLoop, ATargetWithoutANodeReportsForManyNodes) {
  const auto exporter = Exporter(
      "fabric_port_tx_bytes{node=\"leaf0\",port=\"Ethernet1\"} 7\n"
      "fabric_port_tx_bytes{node=\"leaf1\",port=\"Ethernet1\"} 7\n");
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(exporter->port())}});
  ASSERT_TRUE(loop);
  const std::vector<CounterRecord> records = RecordsOf(**loop, 2);
  EXPECT_EQ(records[0].entity.node, "leaf0");
  EXPECT_EQ(records[1].entity.node, "leaf1");
  EXPECT_THAT((*loop)->Foreign(), IsEmpty());
}

TEST(ScrapeLoop, KeepsAFewNamesOfForeignNodes) {
  ForeignNodes foreign;
  for (int i = 0; i < 100; ++i) {
    foreign.Add(fmt::format("leaf{}", i % 50), FromNanoseconds(i));
    EXPECT_EQ(foreign.more, i >= 4);
  }
  EXPECT_EQ(foreign.samples, 100u);
  EXPECT_EQ(foreign.last_received, FromNanoseconds(99));
  EXPECT_THAT(foreign.names, ElementsAre("leaf0", "leaf1", "leaf2", "leaf3"));
}

// One answer with an invalid name made all later answers of the API invalid.
TEST(ScrapeLoop, DropsNamesThatAreNotUtf8) {
  const auto exporter = Exporter(
      "fabric_port_tx_bytes{node=\"lea\xff\",port=\"Ethernet1\"} 7\n"
      "fabric_port_tx_bytes{node=\"leaf0\",port=\"Ethernet1\"} 7\n");
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(exporter->port())}});
  ASSERT_TRUE(loop);
  for (const CounterRecord& record : RecordsOf(**loop, 2)) EXPECT_EQ(record.entity.node, "leaf0");
  const Ledger ledger = (*loop)->Statistics().frames.ledger;
  EXPECT_EQ(ledger.dropped[static_cast<size_t>(DropReason::kBadCounters)], ledger.decoded);
}

TEST(ScrapeLoop, LimitsResponsesInProgress) {
  const auto exporter = Exporter(std::string(5000, 'x'));
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(exporter->port())}}, 4000);
  ASSERT_TRUE(loop);
  std::atomic<bool> stop = false;
  std::thread thread([&] { (*loop)->Run(stop); });
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((*loop)->Problems().empty() && std::chrono::steady_clock::now() < late) {
    std::this_thread::yield();
  }
  EXPECT_THAT((*loop)->Problems(),
              ElementsAre(AllOf(HasSubstr("the limit of 4,000 bytes"), HasSubstr("`memory`"))));
  (*loop)->records().Abandon();
  stop = true;
  thread.join();
}

TEST(ScrapeLoop, ClampsTimesToNow) {
  const auto exporter =
      Exporter("fabric_port_tx_bytes{node=\"leaf0\",port=\"Ethernet1\"} 7 9000000000000\n");
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(exporter->port())}});
  ASSERT_TRUE(loop);
  const CounterRecord record = RecordsOf(**loop, 1).at(0);
  EXPECT_EQ(record.event_time, record.arrival_time);
}

// Nobody takes records, as while the analysis computes a large answer.
TEST(ScrapeLoop, BatchesOfALargeScrapeDoNotGrow) {
  constexpr size_t kSamples = 10'000;
  std::string text;
  for (size_t i = 0; i < kSamples; ++i) {
    text += fmt::format("fabric_port_tx_bytes{{node=\"leaf0\",port=\"Ethernet{}\"}} 7\n", i);
  }
  const auto exporter = Exporter(text);
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(exporter->port())}});
  ASSERT_TRUE(loop);
  std::atomic<bool> stop = false;
  std::thread thread([&] { (*loop)->Run(stop); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((*loop)->Statistics().records_dropped == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  (*loop)->records().Abandon();
  stop = true;
  thread.join();
  size_t records = 0;
  Timestamp reached;
  while (const ExchangedBatch* batch = (*loop)->records().Take()) {
    EXPECT_LE(batch->size(), RecordExchange::kRecords);
    EXPECT_GT(batch->reached, reached) << "time advances with each batch";
    reached = batch->reached;
    records += batch->size();
  }
  EXPECT_GE(records, kSamples);
}

TEST(ScrapeLoop, ReportsFailedTargets) {
  uint16_t nobody = 0;
  {
    nobody = Exporter("")->port();
  }
  const auto loop = ScrapeLoop::Make({.targets = {TargetAt(nobody)}});
  ASSERT_TRUE(loop);
  std::atomic<bool> stop = false;
  std::thread thread([&] { (*loop)->Run(stop); });
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((*loop)->Problems().empty() && std::chrono::steady_clock::now() < late) {
    std::this_thread::yield();
  }
  EXPECT_THAT((*loop)->Problems(), ElementsAre(HasSubstr("Connection refused")));
  (*loop)->records().Abandon();
  stop = true;
  thread.join();
}

TEST(ScrapeLoop, RejectsInvalidUrls) {
  const auto loop = ScrapeLoop::Make({.targets = {{.url = "leaf0:9400"}}});
  ASSERT_FALSE(loop);
  EXPECT_THAT(loop.error().message, HasSubstr("invalid URL \"leaf0:9400\""));
}

}  // namespace
}  // namespace rocescope
