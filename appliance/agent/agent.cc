// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "appliance/agent/agent_link.h"
#include "appliance/agent/loss_warning.h"
#include "appliance/common/config/listen_address.h"
#include "appliance/common/files/text_file.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

using Clock = Collector::Clock;

// Returns a random nonzero session number.
uint64_t NewSession() {
  std::random_device random;
  const uint64_t session = (uint64_t{random()} << 32) | random();
  return session == 0 ? 1 : session;
}

Result<std::string> ReadPem(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{1} << 20;
  return path.empty() ? std::string() : ReadTextFile(path, kLargest);
}

Status CheckConnection(const AgentConfig& config) {
  const size_t colon = config.appliance.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == config.appliance.size()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("invalid appliance address \"{}\": expected HOST:PORT, for "
                                 "example appliance.example:50051",
                                 config.appliance));
  }
  if (!config.host.empty() && !IsHostName(config.host)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("invalid host name \"{}\": expected at most 253 letters, digits, "
                                 "'-', '_' and '.'",
                                 config.host));
  }
  const AgentTlsConfig& tls = config.tls;
  const bool all = !tls.certificate.empty() && !tls.key.empty() && !tls.appliance_ca.empty();
  const bool none = tls.certificate.empty() && tls.key.empty() && tls.appliance_ca.empty();
  if (!all && !none) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        "incomplete TLS configuration: set all of tls.certificate, tls.key and tls.appliance_ca");
  }
  if (none && !IsThisHost(std::string_view(config.appliance).substr(0, colon))) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is not on this host (127.0.0.1, [::1], localhost), and "
                                 "connections to other hosts require TLS: set `tls: {{certificate: "
                                 "..., key: ..., appliance_ca: ...}}` in the agent configuration",
                                 config.appliance));
  }
  return {};
}

}  // namespace

struct Agent::Parts {
  Parts(const AgentConfig& config, Notify given, Collector::ReadQueuePairs read_queue_pairs)
      : notify(std::move(given)),
        buffer(config.buffer),
        collector(config, buffer, std::move(read_queue_pairs)) {}

  const Notify notify;
  LossWarning loss_warning;
  BatchBuffer buffer;
  Collector collector;
  std::optional<AgentLink> link;  // destroyed before the buffer it reads from
};

Result<std::unique_ptr<Agent>> Agent::Begin(const AgentConfig& config, const std::string& version,
                                            Notify notify,
                                            Collector::ReadQueuePairs read_queue_pairs) {
  for (const Status& checked : {CheckConnection(config), Collector::Check(config)}) {
    if (!checked) return tl::unexpected(checked.error());
  }
  std::array<std::string, 3> pems;
  const std::array paths = {&config.tls.certificate, &config.tls.key, &config.tls.appliance_ca};
  for (size_t i = 0; i < pems.size(); ++i) {
    Result<std::string> pem = ReadPem(*paths[i]);
    if (!pem) return tl::unexpected(pem.error());
    pems[i] = *std::move(pem);
  }
  for (const std::string& warning : Collector::MissingSources(config)) {
    notify(Severity::kWarning, warning);
  }
  auto parts = std::make_unique<Parts>(config, notify, std::move(read_queue_pairs));
  parts->link.emplace(AgentLink::Options{.appliance = config.appliance,
                                         .certificate = pems[0],
                                         .key = pems[1],
                                         .appliance_ca = pems[2],
                                         .host = config.host.empty() ? OwnHostName() : config.host,
                                         .version = version,
                                         .session = NewSession(),
                                         .notify = std::move(notify)},
                      parts->buffer);
  return std::unique_ptr<Agent>(new Agent(std::move(parts)));
}

Agent::Agent(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Agent::~Agent() {
  constexpr auto kFarewell = std::chrono::seconds(2);
  if (parts_->link->IsConnected()) parts_->buffer.WaitUntilTaken(kFarewell);
}

void Agent::Run(const std::function<bool()>& stopped) {
  constexpr Clock::duration kLongest = std::chrono::milliseconds(100);
  while (!stopped()) {
    const Clock::time_point now = Clock::now();
    const Clock::time_point next = parts_->collector.Look(now, WallClock());
    const LogTail::Counts& logs = parts_->collector.logs();
    std::vector<std::string> problems = parts_->collector.Problems();
    const BatchBuffer::Counts counts = parts_->buffer.counts();
    if (counts.too_large > 0) {
      problems.insert(problems.begin(),
                      fmt::format("{} batches exceeded the maximum message size and were dropped",
                                  counts.too_large));
    }
    if (logs.unread_bytes > 0) problems.insert(problems.begin(), UnreadLogText(logs.unread_bytes));
    if (const std::string warning =
            parts_->loss_warning.Look({.batches = counts.lost_batches,
                                       .bytes = counts.lost_bytes,
                                       .unread_log_bytes = logs.unread_bytes},
                                      now);
        !warning.empty()) {
      parts_->notify(Severity::kWarning, warning);
    }
    parts_->link->SetCondition({.log_lines = logs.lines,
                                .log_lines_cut = logs.too_long + logs.cut,
                                .problems = std::move(problems)});
    std::this_thread::sleep_until(std::min(next, now + kLongest));
  }
}

BatchBuffer::Counts Agent::counts() const { return parts_->buffer.counts(); }
bool Agent::IsConnected() const { return parts_->link->IsConnected(); }

std::string OwnHostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace rocescope
