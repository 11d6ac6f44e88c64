// SPDX-License-Identifier: BSD-3-Clause
// Applies each configuration and its rollback to a model of the switch's configuration, which must
// be empty afterwards. Each command of the rollback must remove something.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/plan/plan_fixture.h"
#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {
namespace {

// The running configuration: one entry for each command, with the command of its section in front.
class SwitchModel {
 public:
  // Executes the commands; returns the first one that has no effect or comes too early.
  std::string Execute(const std::string& text, Vendor vendor) {
    std::istringstream lines(text);
    std::string section;
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '!' || line[0] == '#') continue;
      if (line[0] == ' ') {
        present_.insert(section + line);
        continue;
      }
      section = line;
      if (!(vendor == Vendor::kSonic ? Sonic(line) : Cli(line))) return line;
    }
    return "";
  }

  const std::set<std::string>& present() const { return present_; }

 private:
  static bool Take(std::string_view& line, std::string_view prefix) {
    if (!line.starts_with(prefix)) return false;
    line.remove_prefix(prefix.size());
    return true;
  }

  bool Has(std::string_view prefix) const {
    const auto at = present_.lower_bound(std::string(prefix));
    return at != present_.end() && at->starts_with(prefix);
  }

  // Removes the command and those that begin with it as whole words.
  bool Remove(std::string_view command) {
    return std::erase_if(present_, [&](const std::string& each) {
             return each == command || each.starts_with(std::string(command) + " ");
           }) > 0;
  }

  // EOS and NX-OS: "no" or "default" and the first words of a command remove it.
  bool Cli(std::string_view line) {
    if (!Take(line, "no ") && !Take(line, "default ")) {
      present_.emplace(line);
      return true;
    }
    // Nothing may refer to what is removed.
    if (line.starts_with("monitor erspan origin") && Has("monitor session")) return false;
    if (line.starts_with("sflow destination") && Has("sflow run")) return false;
    if (line.starts_with("sflow collector-ip") && Has("sflow data-source")) return false;
    if (line == "feature sflow" && Has("sflow ")) return false;
    return Remove(line);
  }

  // SONiC: a command replaces or removes the entries of a table.
  bool Sonic(std::string_view line) {
    if (line.starts_with("redis-cli ") || line == "sudo config save -y") return true;
    if (!Take(line, "sudo config ")) return false;
    const std::string rest(line);
    if (Take(line, "mirror_session erspan add ")) return Add("session", line);
    if (Take(line, "mirror_session remove ")) return Remove("session " + std::string(line));
    if (line == "feature state sflow enabled") return Add("feature", "sflow");
    if (line == "feature state sflow disabled") return !Has("agent") && Remove("feature sflow");
    if (Take(line, "sflow collector add ")) return Add("collector", line);
    if (Take(line, "sflow collector del ")) {
      return !Has("enable") && Remove("collector " + std::string(line));
    }
    if (line == "sflow polling-interval 20") {
      Remove("polling");
      return true;
    }
    if (Take(line, "sflow polling-interval ")) return Add("polling", line);
    if (Take(line, "sflow agent-id add ")) return Add("agent", line);
    if (line == "sflow agent-id del") return Remove("agent");
    if (line == "sflow enable") return Add("enable", "sflow");
    if (line == "sflow disable") return Remove("enable");
    if (Take(line, "sflow interface sample-rate ")) {
      constexpr std::string_view kDefault = " default";
      if (!line.ends_with(kDefault)) return Add("rate", line);
      line.remove_suffix(kDefault.size());
      return Remove("rate " + std::string(line));
    }
    ADD_FAILURE() << "unknown command: " << rest;
    return false;
  }

  bool Add(const std::string& kind, std::string_view value) {
    present_.insert(kind + " " + std::string(value));
    return true;
  }

  std::set<std::string> present_;
};

void ExpectRollback(const topology::Fabric& fabric, const PlanOptions& options) {
  const auto plan = MakePlan(fabric, options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const std::vector<SwitchConfig> configs = SwitchConfigs(fabric, *plan);
  ASSERT_FALSE(configs.empty());
  for (const SwitchConfig& config : configs) {
    SwitchModel model;
    EXPECT_EQ(model.Execute(config.text, options.vendor), "");
    EXPECT_FALSE(model.present().empty());
    EXPECT_EQ(model.Execute(config.rollback, options.vendor), "") << config.rollback;
    EXPECT_TRUE(model.present().empty()) << "remains: " << *model.present().begin();
  }
}

TEST(RollbackTest, RemovesWhatTheConfigurationCreates) {
  for (const Vendor vendor : {Vendor::kSonic, Vendor::kEos, Vendor::kNxos}) {
    for (size_t choice = 0; choice < kChoiceCount; ++choice) {
      PlanOptions options = CollectorsOf(100'000 * kGigabit);
      options.vendor = vendor;
      options.choice = static_cast<MirrorChoice>(choice);
      options.polling_seconds = 30;
      ExpectRollback(WithSlots(LeafSpine()), options);
    }
  }
}

TEST(RollbackTest, RemovesSampledAndTruncatedSessions) {
  for (const Vendor vendor : {Vendor::kSonic, Vendor::kEos}) {
    PlanOptions options = CollectorsOf(1'000 * kGigabit);
    options.vendor = vendor;
    options.one_in = 64;
    ExpectRollback(TwoHosts(), options);
  }
}

TEST(RollbackTest, RemovesSflowAlone) {
  for (const Vendor vendor : {Vendor::kSonic, Vendor::kEos, Vendor::kNxos}) {
    PlanOptions options = CollectorsOf(1'000);  // no mirror fits
    options.vendor = vendor;
    ExpectRollback(TwoHosts(), options);
  }
}

}  // namespace
}  // namespace rocescope::plan
