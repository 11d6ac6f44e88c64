// SPDX-License-Identifier: BSD-3-Clause
// Measures the history at scale: bytes per link and minute, latency of queries, and of writes while
// hours are compacted. Prints one JSON object.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_store.h"
#include "base/hash.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kFirstMinute = 29'000'040;  // in 2025, a multiple of 60
constexpr int kWindows = 60;                  // per minute
constexpr double kBits = 4e11;                // 400 Gbit/s in a window of a second
constexpr int kLinksPerJob = 256;

// A number from 0 to 1 that depends on the arguments only.
double Uniform(uint64_t a, uint64_t b, uint64_t c) {
  return static_cast<double>(HashCombine(HashCombine(a, b), c) >> 11) * 0x1p-53;
}
// A bell curve with a standard deviation of 1.
double Noise(uint64_t a, uint64_t b, uint64_t c) {
  double sum = 0;
  for (uint64_t i = 0; i < 6; ++i) sum += Uniform(a, b, c * 8 + i) - 0.5;
  return sum * 1.414;
}

// Links that jobs load. The iterations of a job vary by 2 % and are the same on all of its links.
// Each link varies by `noise` in addition. A quarter of the jobs is idle. CE marks, pauses and
// queue peaks are rare, drops and errors very rare.
LinkMinute MinuteOf(uint64_t link, int64_t minute, double noise) {
  const auto m = static_cast<uint64_t>(minute);
  const uint64_t job = link / kLinksPerJob;
  LinkMinute out = {.minute = minute,
                    .port = fmt::format("leaf{}:Ethernet{}", link / 64, link % 64)};
  const bool is_idle = Uniform(job, m / 60, 1) < 0.25;
  const double load = is_idle ? 0 : 0.3 + 0.4 * Uniform(job, 0, 2);
  for (uint64_t window = 0; window < kWindows; ++window) {
    const uint64_t at = m * kWindows + window;
    const double factor = 1 + 0.02 * Noise(job, at, 3) + noise * Noise(link, at, 4);
    const auto bytes = static_cast<uint64_t>(std::max(0.0, load * factor) * kBits / 8);
    const double use = std::min(1.0, static_cast<double>(bytes) * 8 / kBits);
    ++out.windows;
    ++out.use_windows;
    out.use_sum += use;
    out.use_most = std::max(out.use_most, use);
    out.bytes += bytes;
  }
  const auto happens = [&](uint64_t what, double share) {
    return !is_idle && Uniform(link, m, what) < share;
  };
  const auto amount = [&](uint64_t what, double most) {
    return 1 + static_cast<uint64_t>(most * Uniform(link, m, what));
  };
  if (happens(5, 0.03)) out.marked = amount(6, 1e5);
  if (happens(7, 0.005)) out.paused_ns = amount(8, 5e7);
  if (happens(9, 0.1)) out.peak_bytes = 208 * amount(10, 2e4);
  if (happens(11, 1e-5)) out.dropped = amount(12, 1000);
  if (happens(13, 1e-5)) out.errors = amount(14, 10);
  return out;
}

struct Latencies {
  std::vector<double> ms;

  template <typename Work>
  void Measure(Work work) {
    const auto start = Clock::now();
    work();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  double At(double share) {
    if (ms.empty()) return 0;
    std::ranges::sort(ms);
    return ms[std::min(ms.size() - 1, static_cast<size_t>(share * static_cast<double>(ms.size())))];
  }
  std::string Json() {
    return fmt::format(R"({{"count": {}, "p50": {:.1f}, "p99": {:.1f}, "max": {:.1f}}})", ms.size(),
                       At(0.5), At(0.99), At(1));
  }
};

[[noreturn]] void Fail(const std::string& what) {
  fmt::print(stderr, "history_scale: {}\n", what);
  std::exit(1);
}

struct Options {
  uint64_t links = 20'480;
  int64_t hours = 3;
  int queries = 100;
  double noise = 0.005;
  std::string file;
  bool reads_only = false;
};

void Run(const Options& options) {
  const Duration kept = std::chrono::hours(24 * 36'500);
  auto store = HistoryStore::Open(
      {.file = options.file,
       .retention = {.keep_events = kept, .keep_series = kept, .max_bytes = uint64_t{1} << 40},
       .longest_question = std::chrono::seconds(60)},
      [](Severity, const std::string& text) { fmt::print(stderr, "{}\n", text); });
  if (!store) Fail(store.error().message);
  auto database = OpenDatabase(options.file, SQLite::OPEN_READONLY);
  if (!database) Fail(database.error().message);
  const auto number = [&](const char* sql) { return database->execAndGet(sql).getInt64(); };

  Latencies add;
  Latencies write_alone;
  Latencies write_while_compacting;
  const int64_t minutes =
      options.reads_only ? 0 : options.hours * 60 + 6;  // so that the last hour is compacted
  for (int64_t i = 0; i < minutes; ++i) {
    std::vector<LinkMinute> rows;
    for (uint64_t link = 0; link < options.links; ++link) {
      rows.push_back(MinuteOf(link, kFirstMinute + i, options.noise));
    }
    add.Measure([&] {
      for (LinkMinute& row : rows) (*store)->Add(std::move(row));
    });
    const bool compacts = number("SELECT ifnull(min(minute), 0) FROM link_minutes") / 60 <
                          (kFirstMinute + i - 5) / 60;
    (compacts ? write_while_compacting : write_alone).Measure([&] {
      if (!(*store)->Flush(std::chrono::seconds(60))) Fail("the writer does not follow");
    });
  }
  const auto start = Clock::now();
  while (number("SELECT ifnull(min(minute), 0) FROM link_minutes") <
         kFirstMinute + options.hours * 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (Clock::now() - start > std::chrono::minutes(10)) Fail("the compaction does not end");
  }

  Latencies series;
  Latencies all_links;
  for (uint64_t i = 0; i < static_cast<uint64_t>(options.queries); ++i) {
    const std::string port = MinuteOf(Mix64(i) % options.links, kFirstMinute, options.noise).port;
    series.Measure([&] {
      const auto found = (*store)->LinkSeries({.name = port, .max_points = 1000});
      if (!found || found->points.empty()) Fail("no series of " + port);
    });
    const int64_t minute =
        kFirstMinute + static_cast<int64_t>(Mix64(~i) % static_cast<uint64_t>(options.hours * 60));
    all_links.Measure([&] {
      const auto found = (*store)->LinksAt({.minute = minute});
      if (!found || found->links.size() != options.links) Fail("missing links");
    });
  }

  const auto link_minutes =
      static_cast<double>(options.links) * 60 * static_cast<double>(options.hours);
  const auto blocks = static_cast<double>(number("SELECT sum(length(message)) FROM link_blocks"));
  const double per_minute = blocks / link_minutes;
  fmt::print(R"({{"links": {}, "hours": {}, "noise": {}, "block_bytes_per_link_minute": {:.2f}, )"
             R"("gb_of_20480_links_in_7_days": {:.2f}, "file_bytes": {}, "dropped_rows": {}, )"
             R"("add_ms": {}, "write_ms": {}, "write_while_compacting_ms": {}, "series_ms": {}, )"
             R"("all_links_ms": {}}})"
             "\n",
             options.links, options.hours, options.noise, per_minute,
             per_minute * 20'480 * 10'080 / 1e9, (*store)->counts().file_bytes,
             (*store)->counts().dropped, add.Json(), write_alone.Json(),
             write_while_compacting.Json(), series.Json(), all_links.Json());
}

}  // namespace
}  // namespace rocescope

int main(int argc, char** argv) {
  rocescope::Options options;
  CLI::App app("Measures the history at scale and prints one JSON object.");
  app.add_option("file", options.file, "History file to create.")->required();
  app.add_option("--links", options.links, "Number of link directions.");
  app.add_option("--hours", options.hours, "Hours of history.");
  app.add_option("--queries", options.queries, "Queries of each kind.");
  app.add_option("--noise", options.noise, "Standard deviation of the load of one link, 0 to 1.");
  app.add_flag("--reads-only", options.reads_only, "Only queries, of an existing file.");
  CLI11_PARSE(app, argc, argv);
  if (!options.reads_only && std::filesystem::exists(options.file)) {
    fmt::print(stderr, "history_scale: {} exists\n", options.file);
    return 1;
  }
  rocescope::Run(options);
  return 0;
}
