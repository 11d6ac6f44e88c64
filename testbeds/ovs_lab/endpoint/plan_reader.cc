// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/plan_reader.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/text/quantity.h"
#include "sim/scenario/units.h"

namespace rocescope::endpoint {
namespace {

using topology::YamlErrors;
using topology::YamlNode;

constexpr double kMostPacketsPerSecond = 1e6;

std::vector<std::string_view> Joined(std::initializer_list<std::string_view> a,
                                     std::initializer_list<std::string_view> b) {
  std::vector<std::string_view> all(a);
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Result<double> ParseReal(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < least || value > most) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not a number from {} to {}", text, least, most));
  }
  return value;
}

}  // namespace

PlanMap::PlanMap(const YamlNode& node, std::string_view what,
                 std::initializer_list<std::string_view> keys,
                 std::initializer_list<std::string_view> unsupported, YamlErrors& errors)
    : map_(node, what, Joined(keys, unsupported), errors), errors_(errors) {
  for (const std::string_view key : unsupported) {
    if (const YamlNode* found = map_.Find(key)) {
      errors.Add(*found, fmt::format("the key \"{}\" of {} is supported by the simulator only: "
                                     "remove it",
                                     key, what));
    }
  }
}

void PlanMap::Number(std::string_view key, uint64_t least, uint64_t most, uint32_t& value) const {
  uint64_t wide = value;
  Number(key, least, most, wide);
  value = static_cast<uint32_t>(wide);
}

void PlanMap::Number(std::string_view key, uint64_t least, uint64_t most, uint64_t& value) const {
  if (const YamlNode* node = Find(key)) {
    value = topology::ReadNumber(*node, least, most, errors_).value_or(value);
  }
}

void PlanMap::Flag(std::string_view key, bool& value) const {
  if (const YamlNode* node = Find(key)) value = topology::ReadBool(*node, errors_).value_or(value);
}

void PlanMap::Text(std::string_view key, std::string& value) const {
  if (const YamlNode* node = Find(key)) {
    if (const auto text = topology::ReadText(*node, errors_)) value = std::string(*text);
  }
}

void PlanMap::Real(std::string_view key, double least, double most, double& value) const {
  if (const YamlNode* node = Find(key)) {
    const auto parse = [&](std::string_view text) { return ParseReal(text, least, most); };
    value = topology::ReadParsed(*node, parse, errors_).value_or(value);
  }
}

void PlanMap::Time(std::string_view key, Duration least, Duration& value) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return;
  const auto time = topology::ReadParsed(*node, sim::ParseSimTime, errors_);
  if (!time) return;
  const Duration read(*time / sim::kNanosecond);
  if (read < least) {
    errors_.Add(*node, fmt::format("{} must be at least {} us", key, least.count() / 1000));
    return;
  }
  value = read;
}

void PlanMap::Size(std::string_view key, uint64_t most, uint64_t& value) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return;
  const auto size = topology::ReadParsed(*node, sim::ParseSize, errors_);
  if (!size) return;
  if (*size == 0 || *size > most) {
    errors_.Add(*node, fmt::format("{} must be from 1 to {} bytes", key, most));
    return;
  }
  value = *size;
}

void PlanMap::Speed(std::string_view key, double& value) const {
  if (const YamlNode* node = Find(key)) {
    if (const auto speed = topology::ReadParsed(*node, topology::ParseSpeed, errors_)) {
      value = static_cast<double>(*speed);
    }
  }
}

Result<RateLimit> ParseRateLimit(std::string_view text) {
  constexpr std::string_view kPackets = "pps";
  if (text.ends_with(kPackets)) {
    const auto number =
        ParseReal(text.substr(0, text.size() - kPackets.size()), 1, kMostPacketsPerSecond);
    if (!number) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("\"{}\" is not a packet rate: expected 1pps to 1000000pps", text));
    }
    return RateLimit{.packets_per_second = *number};
  }
  const auto bits = topology::ParseSpeed(text);
  if (bits) return RateLimit{.bits_per_second = static_cast<double>(*bits)};
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("\"{}\" is not a rate: expected bit/s such as 20M, or packets per second such as "
                  "1500pps",
                  text));
}

void ReadNetwork(const YamlNode& node, TransportOptions& transport, Duration& connect_timeout,
                 bool& random_first_psn, YamlErrors& errors) {
  const PlanMap map(node, "the network",
                    {"mtu", "ack_every", "ack_timeout", "retries", "window", "connect_timeout",
                     "first_psn", "dcqcn"},
                    {"buffer", "alpha", "lossy_alpha", "headroom", "ecn_minimum", "ecn_maximum",
                     "ecn_probability", "spray", "one_hash_seed", "switch_mtu", "pfc_watchdog",
                     "pfc_watchdog_restoration"},
                    errors);
  if (const YamlNode* mtu = map.Find("mtu")) {
    constexpr std::array<std::string_view, 5> kMtus = {"256", "512", "1024", "2048", "4096"};
    if (const auto choice = topology::ReadChoice(*mtu, kMtus, errors)) {
      transport.mtu = 256u << *choice;
    }
  }
  map.Number("ack_every", 1, 1u << 16, transport.ack_every);
  map.Time("ack_timeout", std::chrono::milliseconds(1), transport.ack_timeout);
  map.Number("retries", 0, 7, transport.retries);
  map.Number("window", 0, 1u << 20, transport.window);
  map.Time("connect_timeout", Duration(0), connect_timeout);
  if (const YamlNode* first = map.Find("first_psn")) {
    constexpr std::array<std::string_view, 2> kChoices = {"zero", "random"};
    if (const auto choice = topology::ReadChoice(*first, kChoices, errors)) {
      random_first_psn = *choice == 1;
    }
  }
  const YamlNode* dcqcn = map.Find("dcqcn");
  if (dcqcn == nullptr) return;
  const PlanMap own(*dcqcn, "DCQCN",
                    {"enabled", "g", "alpha_timer", "decrease_interval", "rate_timer",
                     "fast_recovery", "additive", "minimum", "cnp_interval"},
                    {"byte_counter", "hyper"}, errors);
  DcqcnOptions& options = transport.dcqcn;
  constexpr Duration kShortest = std::chrono::microseconds(1);
  own.Flag("enabled", options.enabled);
  own.Real("g", 1e-6, 1, options.g);
  own.Time("alpha_timer", kShortest, options.alpha_timer);
  own.Time("decrease_interval", kShortest, options.decrease_interval);
  own.Time("rate_timer", kShortest, options.rate_timer);
  own.Number("fast_recovery", 0, 1000, options.fast_recovery);
  own.Speed("additive", options.additive);
  own.Speed("minimum", options.minimum);
  own.Time("cnp_interval", Duration(0), options.cnp_interval);
}

}  // namespace rocescope::endpoint
