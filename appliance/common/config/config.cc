// SPDX-License-Identifier: BSD-3-Clause
// Reads configurations. config_dump.cc writes them.
#include "appliance/common/config/config.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <type_traits>
#include <utility>

#include "appliance/common/config/agent_config_keys.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/config/config_checks.h"
#include "appliance/common/config/config_keys.h"
#include "appliance/common/config/duration.h"
#include "appliance/common/config/has_keys.h"
#include "appliance/common/files/text_file.h"
#include "base/text/yaml_fields.h"

namespace rocescope {
namespace {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

constexpr std::string_view kRoot = "the configuration";  // completes "unknown key ... of"

void Read(const YamlNode& node, std::string& value, YamlErrors& errors) {
  if (const auto text = ReadText(node, errors)) value = *text;
}

void Read(const YamlNode& node, bool& value, YamlErrors& errors) {
  value = ReadBool(node, errors).value_or(value);
}

template <typename T>
  requires std::is_unsigned_v<T>
void Read(const YamlNode& node, Within<T> within, YamlErrors& errors) {
  if (const auto number = ReadNumber(node, within.least, within.most, errors)) {
    within.value = static_cast<T>(*number);
  }
}

// Reads a quantity with a unit and checks its bounds.
template <typename Bounded, typename Parse, typename Format>
void ReadBounded(const YamlNode& node, Bounded bounded, Parse parse, Format format,
                 YamlErrors& errors) {
  const auto value = ReadParsed(node, parse, errors);
  if (!value) return;
  if (*value < bounded.least || *value > bounded.most) {
    errors.Add(node, fmt::format("expected {} to {}, found {}", format(bounded.least),
                                 format(bounded.most), node.text));
    return;
  }
  bounded.value = *value;
}

void Read(const YamlNode& node, Within<Duration> within, YamlErrors& errors) {
  ReadBounded(node, within, ParseDuration, FormatDuration, errors);
}

void Read(const YamlNode& node, Bytes bytes, YamlErrors& errors) {
  ReadBounded(node, bytes, ParseBytes, FormatBytes, errors);
}

Result<double> ParseReal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is not a number", text));
}

void Read(const YamlNode& node, Within<double> within, YamlErrors& errors) {
  ReadBounded(
      node, within, ParseReal, [](double value) { return fmt::format("{}", value); }, errors);
}

void Read(const YamlNode& node, ListenAddress& value, YamlErrors& errors) {
  value = ReadParsed(node, ParseListenAddress, errors).value_or(value);
}

void Read(const YamlNode& node, IpPrefix& value, YamlErrors& errors) {
  value = ReadParsed(node, ParseIpPrefix, errors).value_or(value);
}

template <typename T>
void Read(const YamlNode& node, OneOf<T> one, YamlErrors& errors) {
  const auto text = ReadText(node, errors);
  if (!text) return;
  std::string words;
  for (const auto& [word, value] : one.words) {
    if (word == *text) {
      one.value = value;
      return;
    }
    words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
  }
  errors.Add(node, fmt::format("expected one of {}; found {}", words, *text));
}

void Read(const YamlNode& node, AddressOrNone where, YamlErrors& errors) {
  const auto text = ReadText(node, errors);
  if (!text) return;
  where.value.reset();
  if (*text == "none") return;
  if (text->empty()) {
    errors.Add(node, "expected an address with a port, or the word `none`");
    return;
  }
  if (const auto address = ReadParsed(node, ParseListenAddress, errors)) where.value = *address;
}

template <HasKeys T>
void Read(const YamlNode& node, T& config, YamlErrors& errors, std::string_view what);
void Read(const YamlNode& node, HttpConfig& config, YamlErrors& errors, std::string_view what);
void Read(const YamlNode& node, TokenConfig& config, YamlErrors& errors, std::string_view what);

template <typename T>
void Read(const YamlNode& node, std::vector<T>& values, YamlErrors& errors,
          [[maybe_unused]] std::string_view what) {
  values.clear();
  for (const YamlNode& item : ReadList(node, errors)) {
    if constexpr (HasKeys<T>) {
      Read(item, values.emplace_back(), errors, what);
    } else {
      Read(item, values.emplace_back(), errors);
    }
  }
}

// Reads the values of the keys that are present in a map. The others keep their defaults.
class Reader {
 public:
  Reader(const YamlMap& map, std::string_view what, YamlErrors& errors)
      : map_(map), what_(what), errors_(errors) {}

  template <typename T>
  void Key(std::string_view name, T&& value, std::string_view) {
    const YamlNode* const node = map_.Find(name);
    if (node == nullptr) return;
    if constexpr (requires { Read(*node, value, errors_, name); }) {
      Read(*node, value, errors_, name);
    } else {
      Read(*node, std::forward<T>(value), errors_);
    }
    using Value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Value, std::string> ||
                  std::is_same_v<Value, std::vector<std::string>>) {
      RefuseNul(*node, name);
    }
  }
  template <typename T>
  void Key(std::string_view name, Secret<T> secret, std::string_view meaning) {
    Key(name, secret.value, meaning);
  }
  void Key(std::string_view name, Url url, std::string_view meaning) {
    Key(name, url.value, meaning);
  }

 private:
  // The operating system cuts off paths and names at a NUL byte.
  void RefuseNul(const YamlNode& node, std::string_view name) {
    if (node.text.find('\0') != std::string::npos) {
      errors_.Add(node, fmt::format("`{}{}{}` must not contain a NUL byte",
                                    what_ == kRoot ? "" : what_, what_ == kRoot ? "" : ".", name));
    }
    for (const YamlNode& item : node.items) RefuseNul(item, name);
  }

  const YamlMap& map_;
  const std::string_view what_;
  YamlErrors& errors_;
};

template <HasKeys T>
void Read(const YamlNode& node, T& config, YamlErrors& errors, std::string_view what) {
  if (node.kind == YamlNode::Kind::kNull) return;  // all keys are omitted
  NamesOfKeys keys;
  VisitKeys(config, keys);
  const YamlMap map(node, what, keys.names, errors);
  Reader reader(map, what, errors);
  VisitKeys(config, reader);
  if constexpr (requires { CheckMapping(config, map, errors); }) {
    CheckMapping(config, map, errors);
  }
}

// A scalar is the short form of `listen`.
void Read(const YamlNode& node, HttpConfig& config, YamlErrors& errors, std::string_view what) {
  if (node.kind != YamlNode::Kind::kScalar) return Read<HttpConfig>(node, config, errors, what);
  Read(node, AddressOrNone{config.listen}, errors);
  if (!config.listen || config.listen->IsLoopback()) return;
  errors.Add(node, fmt::format("{0} is not a loopback address and requires TLS: `http: {{listen: "
                               "\"{0}\", certificate: FILE, key: FILE, client_ca: FILE}}`",
                               ToString(*config.listen)));
}

// A scalar is the digest.
void Read(const YamlNode& node, TokenConfig& config, YamlErrors& errors, std::string_view what) {
  if (node.kind == YamlNode::Kind::kMap) return Read<TokenConfig>(node, config, errors, what);
  if (node.kind == YamlNode::Kind::kScalar) config.sha256 = node.text;
  if (IsDigest(config.sha256)) return;
  errors.Add(node,
             "expected the SHA-256 digest of a token, which has 64 hexadecimal digits, or a "
             "mapping with the keys name, sha256, role and users");
}

void BeginAt(const std::filesystem::path& folder, std::string& path) {
  if (!path.empty()) path = (folder / path).lexically_normal().string();
}

// `a` and `b` need not exist.
bool IsSameFile(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path resolved = fs::weakly_canonical(a, error);
  return !error && resolved == fs::weakly_canonical(b, error);
}

template <HasKeys T>
Result<T> ParseAny(std::string_view text, std::string_view file) {
  constexpr topology::YamlLimits kLimits = {.bytes = size_t{4} << 20, .nodes = 1u << 18};
  const Result<YamlNode> root = topology::ParseYaml(text, file, kLimits);
  if (!root) return tl::unexpected(root.error());
  YamlErrors errors{std::string(file)};
  T config;
  Read(*root, config, errors, kRoot);
  if (!errors.empty()) return tl::unexpected(errors.Take());
  return config;
}

}  // namespace

Result<ApplianceConfig> ParseConfig(std::string_view text, std::string_view file) {
  return ParseAny<ApplianceConfig>(text, file);
}

Result<ApplianceConfig> LoadConfig(const std::string& path, Pipes pipes) {
  constexpr uintmax_t kLargest = uintmax_t{4} << 20;
  const Result<std::string> text = ReadTextFile(path, kLargest, pipes);
  if (!text) return tl::unexpected(text.error());
  Result<ApplianceConfig> config = ParseConfig(*text, path);
  if (!config) return config;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::string* file :
       {&config->topology, &config->history.file, &config->jobs.file, &config->findings.file}) {
    BeginAt(folder, *file);
  }
  for (TlsConfig* tls : {&config->grpc.tls, &config->http.tls}) {
    for (std::string* file : {&tls->certificate, &tls->key, &tls->client_ca, &tls->crl}) {
      BeginAt(folder, *file);
    }
  }
  for (auto* files :
       {&config->host_files.nccl_logs, &config->host_files.rdma, &config->host_files.slurm}) {
    for (std::string& file : *files) BeginAt(folder, file);
  }
  const std::string& jobs = config->jobs.file;
  if (config->jobs.require_durable && jobs.empty()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: `jobs.require_durable` requires `jobs.file`: set it, or remove "
                    "`jobs.require_durable`",
                    path));
  }
  const std::array<std::pair<std::string_view, const std::string*>, 3> databases = {
      {{"findings.file", &config->findings.file},
       {"jobs.file", &jobs},
       {"history.file", &config->history.file}}};
  for (size_t i = 0; i < databases.size(); ++i) {
    for (size_t j = i + 1; j < databases.size(); ++j) {
      const auto& [key, file] = databases[i];
      const auto& [other_key, other] = databases[j];
      if (file->empty() || other->empty() || !IsSameFile(*file, *other)) continue;
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: `{}` and `{}` name the same file, {}: use two files", path,
                                   key, other_key, *file));
    }
  }
  return config;
}

Status CheckSources(const ApplianceConfig& config) {
  if (!config.interfaces.empty() || !config.udp.int_reports.empty() || !config.udp.sflow.empty() ||
      !config.dpdk.eal.empty() || !config.scrape.targets.empty()) {
    return {};
  }
  return MakeError(ErrorCode::kInvalidArgument,
                   "no sources are configured: set interfaces, dpdk, udp or scrape (`rocescope "
                   "config dump` lists all keys)");
}

Result<AgentConfig> ParseAgentConfig(std::string_view text, std::string_view file) {
  return ParseAny<AgentConfig>(text, file);
}

Result<AgentConfig> LoadAgentConfig(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{4} << 20;
  const Result<std::string> text = ReadTextFile(path, kLargest, Pipes::kRead);
  if (!text) return tl::unexpected(text.error());
  Result<AgentConfig> config = ParseAgentConfig(*text, path);
  if (!config) return config;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::string* file :
       {&config->tls.certificate, &config->tls.key, &config->tls.appliance_ca, &config->root}) {
    BeginAt(folder, *file);
  }
  for (auto* files : {&config->nccl_logs, &config->metrics.files}) {
    for (std::string& file : *files) BeginAt(folder, file);
  }
  return config;
}

}  // namespace rocescope
