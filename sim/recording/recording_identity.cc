// SPDX-License-Identifier: BSD-3-Clause
#include "sim/recording/recording_identity.h"

#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "dataplane/run/checked_file.h"
#include "dataplane/run/json_object.h"
#include "sim/recording/input_file.h"

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kVersion = 1;
constexpr const char* kAgain = "simulate the scenario again with `rocescope-sim run --record`";

tl::unexpected<Error> Foreign(const std::string& run, const std::string& file,
                              std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: the recording belongs to another run: {}; {}",
                               (fs::path(run) / file).string(), why, kAgain));
}

struct Digest {
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

Result<Digest> DigestOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> part(size_t{1} << 20);
  Digest digest;
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    const auto count = static_cast<size_t>(file.gcount());
    digest.bytes += count;
    digest.crc32 = static_cast<uint32_t>(
        crc32_z(digest.crc32, reinterpret_cast<const Bytef*>(part.data()), count));
  }
  if (file.eof()) return digest;
  return MakeError(ErrorCode::kUnavailable, fmt::format("{}: cannot be read", path.string()));
}

}  // namespace

Status WriteIdentity(const std::string& run, const std::string& file, const RunManifest& manifest) {
  const Result<Digest> digest = DigestOf(fs::path(run) / file);
  if (!digest) return tl::unexpected(digest.error());
  const nlohmann::ordered_json json = {{"schema_version", kVersion},
                                       {"scenario", manifest.scenario},
                                       {"seed", manifest.seed},
                                       {"epoch_ns", ToNanoseconds(manifest.epoch)},
                                       {"duration_ns", manifest.duration.count()},
                                       {"file", fs::path(file).filename().string()},
                                       {"bytes", digest->bytes},
                                       {"crc32", digest->crc32}};
  Result<CheckedFile> out = CheckedFile::Open((fs::path(run) / kIdentityFile).string());
  if (!out) return tl::unexpected(out.error());
  out->Write(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  return out->Close();
}

Result<RecordingIdentity> ReadIdentity(const std::string& run) {
  const std::string path = (fs::path(run) / kIdentityFile).string();
  const Status readable = CheckInputFile(
      path, fmt::format("missing, so that the run of the recording is unknown; {}", kAgain));
  if (!readable) return tl::unexpected(readable.error());
  std::ifstream file(path, std::ios::binary);
  const auto invalid = [&](const Error& error) {
    return MakeError(error.code, fmt::format("{}: {}; {}", path, error.message, kAgain));
  };
  const auto json = ParseJsonStrictly(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!json) return invalid(json.error());
  JsonObject object(*json, "");
  object.Unsigned("schema_version", kVersion, kVersion);
  RecordingIdentity identity;
  const auto latest = static_cast<uint64_t>(ToNanoseconds(kLatestTime));
  identity.scenario = object.Text("scenario", RunManifest::kLongestName);
  identity.seed = object.Unsigned("seed", 0, UINT64_MAX);
  identity.epoch = FromNanoseconds(static_cast<int64_t>(object.Unsigned("epoch_ns", 0, latest)));
  identity.duration = Duration(static_cast<int64_t>(object.Unsigned("duration_ns", 1, latest)));
  constexpr size_t kLongest = 255;
  identity.file = object.Text("file", kLongest);
  identity.bytes = object.Unsigned("bytes", 0, UINT64_MAX);
  identity.crc32 = static_cast<uint32_t>(object.Unsigned("crc32", 0, UINT32_MAX));
  if (const Status finished = object.Finish(); !finished) return invalid(finished.error());
  return identity;
}

Status CheckIdentity(const RecordingIdentity& identity, const std::string& run,
                     const RunManifest& manifest) {
  const auto differs = [&](std::string_view what, const auto& recorded, const auto& expected) {
    return Foreign(run, kIdentityFile,
                   fmt::format("its {} is {}, that of run.json {}", what, recorded, expected));
  };
  if (identity.scenario != manifest.scenario) {
    return differs("scenario", identity.scenario, manifest.scenario);
  }
  if (identity.seed != manifest.seed) return differs("seed", identity.seed, manifest.seed);
  if (identity.epoch != manifest.epoch) {
    return differs("epoch_ns", ToNanoseconds(identity.epoch), ToNanoseconds(manifest.epoch));
  }
  if (identity.duration != manifest.duration) {
    return differs("duration_ns", identity.duration.count(), manifest.duration.count());
  }
  for (const std::string file : {kRecordingFile, kHistoryFile}) {
    std::error_code ignored;
    const bool is_described = fs::path(file).filename() == identity.file;
    if (is_described || !fs::exists(fs::path(run) / file, ignored)) continue;
    return Foreign(run, file, fmt::format("recording.json describes {}", identity.file));
  }
  return {};
}

Status CheckRecordedBytes(const RecordingIdentity& identity, const std::string& run) {
  const std::string file = (fs::path(kIdentityFile).parent_path() / identity.file).string();
  const Result<Digest> digest = DigestOf(fs::path(run) / file);
  if (!digest) return tl::unexpected(digest.error());
  if (digest->bytes == identity.bytes && digest->crc32 == identity.crc32) return {};
  return Foreign(run, file, "its length or CRC-32 differs from recording.json");
}

}  // namespace rocescope::sim
