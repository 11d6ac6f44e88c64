// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/apply.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "rocescope/v1/truth.pb.h"
#include "sim/emit/former_run.h"
#include "sim/emit/output_file.h"
#include "sim/profile/collect.h"
#include "sim/profile/mirror_copy.h"
#include "sim/profile/poll_schedule.h"
#include "sim/recording/input_file.h"
#include "sim/recording/recorded_counters.h"
#include "sim/recording/recording_identity.h"
#include "topology/yaml.h"

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;

Result<std::string> ReadText(const fs::path& path) {
  const Status readable = CheckInputFile(path.string(), "missing; expected a run directory");
  if (!readable) return tl::unexpected(readable.error());
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Also refuses what would keep `profile` waiting, such as a FIFO.
constexpr const char* kNoInput = "missing, although run.json says that the run has it";

// Two directories on one file system share the bytes of a file that does not change.
Status LinkOrCopy(const fs::path& from, const fs::path& to) {
  if (Status readable = CheckInputFile(from.string(), kNoInput); !readable) return readable;
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) return {};
  return MakeError(
      ErrorCode::kUnavailable,
      fmt::format("{}: cannot be copied to {}: {}", from.string(), to.string(), error.message()));
}

// `path` without symbolic links, as far as it exists.
fs::path Resolved(const fs::path& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(path, error);
  if (error) resolved = fs::absolute(path, error).lexically_normal();
  return resolved.has_filename() ? resolved : resolved.parent_path();
}

// Whether `inner` is `outer` or inside it.
bool Contains(const fs::path& outer, const fs::path& inner) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// A session whose frames are in the directory.
bool HasTap(const Profile& profile, const topology::Fabric& fabric, const topology::Tap& tap) {
  switch (profile.mirror) {
    case Profile::Mirror::kNone:
      return false;
    case Profile::Mirror::kLeaf:
      return fabric.node(tap.node).tier == topology::Tier::kLeaf;
    case Profile::Mirror::kAll:
      break;
  }
  return true;
}

Result<std::shared_ptr<ExactCounters>> OpenRecorded(const std::string& directory,
                                                    const topology::Fabric& fabric) {
  const std::string path = (fs::path(directory) / kRecordingFile).string();
  const Status readable = CheckInputFile(path, kNoRecording);
  if (!readable) return tl::unexpected(readable.error());
  auto recorded = RecordedCounters::Open(path, fabric);
  if (!recorded) return tl::unexpected(recorded.error());
  return std::shared_ptr<ExactCounters>(*std::move(recorded));
}

class Application {
 public:
  Application(const ApplyOptions& options, const Profile& profile, const OpenRecording& open)
      : from_(options.run),
        to_(options.directory),
        options_(options),
        profile_(profile),
        open_(open) {}

  Result<ApplyReport> Apply();

 private:
  Status ReadRun();
  Status CheckDirectory();
  Status CheckRecording();
  Status Check();
  Status PrepareDirectory();
  Status WriteCounters();
  Status WriteFabric();
  Status WriteCaptures();
  Status WriteHostFiles();
  Status WriteTruth();
  CollectOptions Collection() const;
  // Copies the files of a folder that have this ending.
  Status CopyFolder(const char* folder, const char* ending);

  const fs::path from_;
  const fs::path to_;
  const ApplyOptions& options_;
  const Profile& profile_;
  const OpenRecording& open_;
  const OpenExactCounters opener_ = [this] { return open_(from_.string(), *fabric_); };
  double scale_ = 1;
  std::optional<topology::Fabric> fabric_;
  v1::Truth truth_;
  bool has_mirror_ = false;
  bool keeps_all_taps_ = true;
  ApplyReport report_;
};

Status Application::ReadRun() {
  const auto manifest_text = ReadText(from_ / "run.json");
  if (!manifest_text) return tl::unexpected(manifest_text.error());
  auto manifest = ParseRunManifest(*manifest_text);
  if (!manifest) {
    return MakeError(manifest.error().code, fmt::format("{}: {}", (from_ / "run.json").string(),
                                                        manifest.error().message));
  }
  report_.manifest = *std::move(manifest);
  const auto fabric_text = ReadText(from_ / "topology.yaml");
  if (!fabric_text) return tl::unexpected(fabric_text.error());
  auto fabric = topology::LoadFabric(*fabric_text, (from_ / "topology.yaml").string());
  if (!fabric) return tl::unexpected(fabric.error());
  fabric_ = *std::move(fabric);
  const auto truth_text = ReadText(from_ / "truth.json");
  if (!truth_text) return tl::unexpected(truth_text.error());
  const auto parsed = google::protobuf::util::JsonStringToMessage(*truth_text, &truth_);
  if (!parsed.ok()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: {}", (from_ / "truth.json").string(), parsed.ToString()));
  }
  const RunManifest& run = report_.manifest;
  if (truth_.scenario() != run.scenario || truth_.seed() != run.seed ||
      truth_.start_ns() != ToNanoseconds(run.epoch)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the truth belongs to another run: its scenario, seed or "
                                 "start_ns differs from run.json; simulate the scenario again with "
                                 "`rocescope-sim run --record`",
                                 (from_ / "truth.json").string()));
  }
  // The run itself may have been collected with a profile.
  truth_.clear_profile();
  for (v1::TruthFault& fault : *truth_.mutable_faults()) fault.clear_detection_limit_frames();
  scale_ = options_.scale > 0 ? options_.scale
                              : static_cast<double>(report_.manifest.analysis_window.count()) /
                                    static_cast<double>(PollPeriod(profile_).count());
  return {};
}

CollectOptions Application::Collection() const {
  return {
      .profile = profile_, .overrides = options_.overrides, .scale = scale_, .seed = options_.seed};
}

// Writing must not change the recorded run.
Status Application::CheckDirectory() {
  const fs::path to = Resolved(to_);
  for (const fs::path& input : {Resolved(from_), Resolved(from_ / "recording")}) {
    if (!Contains(input, to) && !Contains(to, input)) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("-d {}: the output must not replace the recorded run {}, be "
                                 "inside it or contain it; choose another directory",
                                 to_.string(), from_.string()));
  }
  return {};
}

// The recording must be of this run, and complete.
Status Application::CheckRecording() {
  const auto identity = ReadIdentity(from_.string());
  if (identity) {
    Status same = CheckIdentity(*identity, from_.string(), report_.manifest);
    if (!same) return same;
  }
  const auto exact = opener_();  // the reason, if it is missing or damaged
  if (!exact) return tl::unexpected(exact.error());
  if (!identity) return tl::unexpected(identity.error());
  return CheckRecordedBytes(*identity, from_.string());
}

// A profile that does not fit the run must not replace an earlier run.
Status Application::Check() {
  const auto exact = opener_();
  if (!exact) return tl::unexpected(exact.error());
  return CheckProfile(**exact, profile_, {.scale = scale_, .overrides = options_.overrides});
}

Status Application::PrepareDirectory() {
  std::error_code error;
  fs::create_directories(to_, error);
  if (error) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: cannot be created: {}", to_.string(), error.message()));
  }
  return {};
}

// An earlier run is replaced only when the counters are complete.
Status Application::WriteCounters() {
  std::error_code error;
  const fs::path path = to_ / "counters.columns.part";
  fs::remove(path, error);  // it may be a link
  auto collected = CollectCounters(Collection(), *fabric_, opener_, path.string(), truth_);
  if (collected && collected->readings == 0) {
    collected = MakeError(ErrorCode::kInvalidArgument,
                          fmt::format("the profile {} leaves no readings in {}: see its keys "
                                      "`unread`, `loss` and `vendors`",
                                      profile_.name, to_.string()));
  }
  if (!collected) {
    fs::remove(path, error);
    return tl::unexpected(collected.error());
  }
  report_.counters = *std::move(collected);
  if (Status begun = BeginRun(to_.string()); !begun) return begun;
  fs::rename(path, to_ / "counters.columns", error);
  if (!error) return {};
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}: cannot be renamed: {}", path.string(), error.message()));
}

Status Application::WriteFabric() {
  topology::Fabric::Parts parts = fabric_->parts();
  const size_t taps = parts.taps.size();
  std::erase_if(parts.taps,
                [&](const topology::Tap& tap) { return !HasTap(profile_, *fabric_, tap); });
  keeps_all_taps_ = parts.taps.size() == taps;
  has_mirror_ = report_.manifest.telemetry.mirror && !parts.taps.empty();
  auto fabric = topology::Fabric::Make(std::move(parts));
  if (!fabric) return tl::unexpected(fabric.error());
  return WriteFile((to_ / "topology.yaml").string(), topology::WriteFabric(*fabric));
}

Status Application::WriteCaptures() {
  RunManifest::Telemetry& present = report_.manifest.telemetry;
  present.mirror = has_mirror_;
  present.int_reports = present.int_reports && profile_.int_reports;
  present.sflow = present.sflow && profile_.sflow;
  if (present.mirror) {
    const fs::path from = from_ / "mirror.pcap";
    const fs::path to = to_ / "mirror.pcap";
    if (keeps_all_taps_ && profile_.mirror_sampling == 1) {
      if (Status linked = LinkOrCopy(from, to); !linked) return linked;
    } else {
      if (Status readable = CheckInputFile(from.string(), kNoInput); !readable) return readable;
      const auto frames = CopyMirror(from.string(), to.string(), *fabric_,
                                     {.leaf_only = profile_.mirror == Profile::Mirror::kLeaf,
                                      .sampling = profile_.mirror_sampling,
                                      .seed = options_.seed});
      if (!frames) return tl::unexpected(frames.error());
      report_.mirrored_frames = *frames;
    }
  }
  for (const auto& [is_present, name] :
       {std::pair(present.int_reports, "int.pcap"), std::pair(present.sflow, "sflow.pcap")}) {
    if (!is_present) continue;
    if (Status linked = LinkOrCopy(from_ / name, to_ / name); !linked) return linked;
  }
  return {};
}

Status Application::CopyFolder(const char* folder, const char* ending) {
  std::error_code error;
  if (!fs::is_directory(from_ / folder, error)) return {};
  for (const auto& entry : fs::directory_iterator(from_ / folder, error)) {
    if (entry.path().extension() != ending) continue;
    Status copied = LinkOrCopy(entry.path(), to_ / folder / entry.path().filename());
    if (!copied) return copied;
  }
  if (!error) return {};
  return MakeError(
      ErrorCode::kUnavailable,
      fmt::format("{}: cannot be read: {}", (from_ / folder).string(), error.message()));
}

Status Application::WriteHostFiles() {
  RunManifest::Telemetry& present = report_.manifest.telemetry;
  present.nccl_logs = present.nccl_logs && profile_.nccl;
  present.rdma = present.rdma && profile_.rdma;
  if (present.nccl_logs) {
    if (Status copied = CopyFolder("nccl", ".log"); !copied) return copied;
  }
  if (present.rdma) {
    if (Status copied = CopyFolder("rdma", ".json"); !copied) return copied;
  }
  std::error_code ignored;
  if (profile_.slurm && fs::is_regular_file(from_ / "slurm.json", ignored)) {
    return LinkOrCopy(from_ / "slurm.json", to_ / "slurm.json");
  }
  return {};
}

Status Application::WriteTruth() {
  truth_.mutable_profile()->set_mirror_sampling(has_mirror_ ? profile_.mirror_sampling : 0);
  if (!report_.manifest.telemetry.sflow) {
    truth_.set_sflow_rate(0);
    truth_.set_sflow_in_spans(false);
  }
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  const auto status = google::protobuf::util::MessageToJsonString(truth_, &json, options);
  if (!status.ok()) return MakeError(ErrorCode::kInternal, status.ToString());
  return WriteFile((to_ / "truth.json").string(), json);
}

Result<ApplyReport> Application::Apply() {
  for (Status (Application::*step)() :
       {&Application::ReadRun, &Application::CheckDirectory, &Application::CheckRecording,
        &Application::Check, &Application::PrepareDirectory, &Application::WriteCounters,
        &Application::WriteFabric, &Application::WriteCaptures, &Application::WriteHostFiles}) {
    if (Status done = (this->*step)(); !done) return tl::unexpected(done.error());
  }
  RunManifest& manifest = report_.manifest;
  manifest.counter_period = ScaledTime(PollPeriod(profile_), scale_);
  manifest.telemetry.counters = true;
  if (Status written = WriteTruth(); !written) return tl::unexpected(written.error());
  // Last: a directory without run.json is not a run.
  if (Status finished = FinishRun(to_.string(), manifest); !finished) {
    return tl::unexpected(finished.error());
  }
  return std::move(report_);
}

}  // namespace

OpenRecording RecordingOpener() {
  return [recording = std::shared_ptr<ExactCounters>()](
             const std::string& directory,
             const topology::Fabric& fabric) mutable -> Result<std::shared_ptr<ExactCounters>> {
    if (recording == nullptr) {
      auto opened = OpenRecorded(directory, fabric);
      if (!opened) return tl::unexpected(opened.error());
      recording = *std::move(opened);
    }
    return recording;
  };
}
Result<ApplyReport> ApplyProfile(const ApplyOptions& options, const Profile& profile,
                                 const OpenRecording& open) {
  return Application(options, profile, open).Apply();
}

}  // namespace rocescope::sim
