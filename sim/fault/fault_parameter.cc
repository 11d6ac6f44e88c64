// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/fault_parameter.h"

#include <fmt/format.h>

namespace rocescope::sim {
namespace {

constexpr FaultParameter kParameters[] = {
    {"probability", "fraction of the frames that are affected, above 0 and at most 1",
     [](const FaultOptions& fault) { return fmt::format("{}", fault.probability); }},
    {"burst", "mean number of consecutive frames that are lost, 1 to 1000000",
     [](const FaultOptions& fault) { return fmt::format("{}", fault.burst); }},
    {"least_length", "bytes, 0 to 65535; shorter frames are not affected",
     [](const FaultOptions& fault) { return fmt::format("{}", fault.least_length); }},
    {"factor",
     "degraded_rate: fraction of the rate that remains, from 0.001 and below 1; straggler: factor "
     "of the compute time, above 1 and at most 1000",
     [](const FaultOptions& fault) {
       return fmt::format("{}; straggler: {}", fault.factor, kStragglerFactor);
     }},
    {"delay",
     "time that is added to the propagation delay of all frames (reordering: only of affected "
     "frames), above 0 and at most 1s",
     nullptr},
    {"period",
     "time from one outage to the next, at least 2us; the link is down for the first half",
     [](const FaultOptions& fault) { return fmt::format("{}ms", fault.period / kMillisecond); }},
    {"rate", "bit/s that the NIC accepts, at least 1M",
     [](const FaultOptions& fault) { return fmt::format("{:.0f}G", fault.rate / 1e9); }},
    {"mtu", "bytes of the longest IP packet that the switch forwards, 256 to 9216",
     [](const FaultOptions& fault) { return fmt::format("{}", fault.mtu); }},
    {"alpha", "share of the free buffer that a queue may use before PFC pauses, 1e-6 to 64",
     [](const FaultOptions& fault) { return fmt::format("{:.4g}", fault.alpha); }},
    {"ecn_minimum", "bytes in a queue from which on frames may be marked",
     [](const FaultOptions& fault) { return fmt::format("{}M", fault.ecn_minimum >> 20); }},
    {"ecn_maximum", "bytes in a queue above which all frames are marked",
     [](const FaultOptions& fault) { return fmt::format("{}M", fault.ecn_maximum >> 20); }},
    {"senders", "NICs that send the added traffic, as HOST:DEVICE,...", nullptr},
    {"message", "bytes of each message of the added traffic, 1 to 1024G",
     [](const FaultOptions& fault) { return fmt::format("{}M", fault.message >> 20); }},
    {"nic", "destination whose packets the switch drops, as HOST:DEVICE", nullptr},
    {"other", "second port of the exchange, as NODE:PORT", nullptr},
    {"growth",
     "severity at the onset as a fraction of the final severity, 1e-6 to 1; 1 means a constant "
     "severity",
     [](const FaultOptions& fault) { return fmt::format("{}", fault.growth); }},
};

}  // namespace

std::span<const FaultParameter> FaultParameters() { return kParameters; }

std::vector<std::string_view> ParametersOf(FaultKind kind) {
  std::vector<std::string_view> names;
  std::string_view rest = InfoOf(kind).parameters;
  while (!rest.empty()) {
    constexpr std::string_view kSeparator = ", ";
    const size_t end = rest.find(kSeparator);
    names.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + kSeparator.size());
  }
  return names;
}

}  // namespace rocescope::sim
