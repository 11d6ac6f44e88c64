// SPDX-License-Identifier: BSD-3-Clause
// Fixture for tests: a temporary folder for a history file, and rows.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "appliance/daemon/history/history_file.h"
#include "appliance/daemon/history/history_store.h"

namespace rocescope {

class HistoryTest : public testing::Test {
 protected:
  HistoryTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-history-" + std::to_string(getpid()))),
        file_((folder_ / "history.db").string()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~HistoryTest() override { std::filesystem::remove_all(folder_); }

  static constexpr Retention kForEver = {.keep_events = std::chrono::hours(24 * 36'500),
                                         .keep_series = std::chrono::hours(24 * 36'500),
                                         .max_bytes = uint64_t{1} << 30};

  HistoryOptions Options() const {
    return {.file = file_, .retention = kForEver, .pace = std::chrono::milliseconds(1)};
  }
  Notify EventPublisher() {
    return [this](Severity, const std::string& text) { notices_.push_back(text); };
  }
  Result<std::unique_ptr<HistoryStore>> Open(const HistoryOptions& options) {
    return HistoryStore::Open(options, EventPublisher());
  }

  // Returns the files in the folder whose names contain `part`.
  std::vector<std::string> FilesWith(const std::string& part) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name.find(part) != std::string::npos) names.push_back(name);
    }
    return names;
  }

  static PastEvent EventAt(int64_t at_ns, std::string message = "") {
    return {.at_ns = at_ns, .kind = "fault_started", .message = std::move(message)};
  }
  static LinkMinute LinkAt(int64_t minute, std::string port, uint64_t bytes) {
    return {.minute = minute,
            .port = std::move(port),
            .windows = 1,
            .use_windows = 1,
            .use_sum = 0.5,
            .use_most = 0.5,
            .bytes = bytes};
  }

  const std::filesystem::path folder_;
  const std::string file_;
  std::vector<std::string> notices_;  // may be read only when no store is open
};

inline constexpr auto kSoon = std::chrono::seconds(20);

}  // namespace rocescope
