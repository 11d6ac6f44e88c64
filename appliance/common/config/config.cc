// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "appliance/common/config/agent_config_keys.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/config/config_keys.h"
#include "appliance/common/config/duration.h"
#include "appliance/common/files/text_file.h"
#include "base/text/yaml_fields.h"

namespace rocescope {
namespace {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

constexpr std::string_view kRoot = "the configuration";  // completes "unknown key ... of"

struct NamesOfKeys {
  std::vector<std::string_view> names;
  template <typename T>
  void Key(std::string_view name, T&&, std::string_view) {
    names.push_back(name);
  }
};

template <typename T>
concept HasKeys = requires(T& config, NamesOfKeys& names) { VisitKeys(config, names); };

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

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Each socket needs an address of its own. Port 0 may be repeated: the system chooses each port.
void CheckListens(const UdpConfig& config, const YamlMap& map, YamlErrors& errors) {
  std::vector<ListenAddress> all;
  for (const auto& [key, addresses] :
       {std::pair("int", &config.int_reports), std::pair("sflow", &config.sflow)}) {
    const YamlNode* const node = map.Find(key);
    if (node == nullptr) continue;
    for (const ListenAddress& address : *addresses) {
      if (address.port != 0 && std::ranges::find(all, address) != all.end()) {
        errors.Add(*node, fmt::format("duplicate address in `udp`: {}", ToString(address)));
        return;
      }
      all.push_back(address);
    }
  }
}

// Checks a mapping with `listen` and the three TLS files.
void CheckAccess(std::span<const ListenAddress> listen, const TlsConfig& tls, const YamlNode& node,
                 YamlErrors& errors) {
  if (const Status checked = CheckTls(listen, tls); !checked) {
    errors.Add(node, checked.error().message);
  }
}

void CheckNames(const HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("names");
  for (const std::string& name : config.names) {
    if (node != nullptr && !IsHostName(name)) {
      errors.Add(*node, fmt::format(
                            "{} is not a host name: expected a name such as appliance.example.org, "
                            "without scheme and port",
                            Quoted(name)));
    }
  }
}

void CheckExternalUrl(HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("external_url");
  if (node == nullptr || config.external_url.empty()) return;
  // It becomes a metric label and the start of a link. "@": a password would be published.
  constexpr std::string_view kForbidden = "\"'<>\\`{}|^?#@";
  const auto is_forbidden = [&](char c) {
    return c <= ' ' || c > '~' || kForbidden.find(c) != std::string_view::npos;
  };
  std::string_view host = config.external_url;
  const bool has_scheme = host.starts_with("http://") || host.starts_with("https://");
  host.remove_prefix(std::min(host.size(), host.find("://") + 3));
  if (!has_scheme || host.empty() || host.starts_with('/') || host.starts_with(':') ||
      std::ranges::any_of(config.external_url, is_forbidden)) {
    errors.Add(*node, fmt::format("{} is not the URL of a dashboard: expected, for example, "
                                  "https://rocescope.example.org, without query and fragment",
                                  Quoted(config.external_url)));
  }
  while (config.external_url.ends_with('/')) config.external_url.pop_back();
}

// Returns whether sockets at these addresses exclude each other.
bool Overlap(const ListenAddress& a, const ListenAddress& b) {
  // [::] includes all IPv4 addresses.
  const auto includes = [](const IpAddress& all, const IpAddress& one) {
    return all == one || (all.IsUnspecified() && (!all.IsV4() || one.IsV4()));
  };
  return a.port != 0 && a.port == b.port &&
         (includes(a.address, b.address) || includes(b.address, a.address));
}

void CheckHealthListen(const HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("health_listen");
  if (node == nullptr || !config.health_listen) return;
  if (!config.health_listen->IsLoopback()) {
    errors.Add(*node, fmt::format("{} is not a loopback address: the listener for health checks "
                                  "requires no authentication; use, for example, 127.0.0.1",
                                  ToString(*config.health_listen)));
  } else if (config.listen && Overlap(*config.health_listen, *config.listen)) {
    errors.Add(*node, "`health_listen` and `listen` have the same port; use different ports");
  }
}

void CheckPorts(const ApplianceConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const http = map.Find("http");
  const YamlNode* const grpc = map.Find("grpc");
  if (http == nullptr && grpc == nullptr) return;
  const auto check = [&](const char* key, const std::optional<ListenAddress>& listen) {
    for (const ListenAddress& address : config.grpc.listen) {
      if (!listen || !Overlap(*listen, address)) continue;
      errors.Add(http != nullptr ? *http : *grpc,
                 fmt::format("`http.{}` ({}) and `grpc.listen` ({}) have the same port; use "
                             "different ports",
                             key, ToString(*listen), ToString(address)));
    }
  };
  check("listen", config.http.listen);
  check("health_listen", config.http.health_listen);
}

void CheckHost(const AgentConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("host");
  if (node == nullptr || config.host.empty() || IsHostName(config.host)) return;
  errors.Add(*node,
             fmt::format("`host`: {} is not a host name: expected at most 253 letters, digits, "
                         "'-', '_' and '.'",
                         Quoted(config.host)));
}

bool IsDigest(std::string_view text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Jobs can be registered without a user, and belong to no client.
void CheckUsers(const std::vector<std::string>& users, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("users");
  if (node != nullptr && std::ranges::find(users, "") != users.end()) {
    errors.Add(*node, "expected the names of users of the scheduler, found an empty name");
  }
}

void CheckToken(const TokenConfig& config, const YamlNode& node, const YamlMap& map,
                YamlErrors& errors) {
  if (const YamlNode* digest = map.Require("sha256"); digest && !IsDigest(config.sha256)) {
    errors.Add(*digest, "expected the SHA-256 digest of a token: 64 hexadecimal digits");
  }
  if (config.role == TokenRole::kTenant && config.users.empty()) {
    errors.Add(node,
               "`users` is required for the role `tenant`: name the users of the scheduler "
               "whose jobs the client may read");
  } else if (config.role != TokenRole::kTenant && !config.users.empty()) {
    errors.Add(node, "`users` is only for the role `tenant`: other roles read data of all jobs");
  }
  CheckUsers(config.users, map, errors);
}

void CheckTenant(const TenantConfig& config, const YamlMap& map, YamlErrors& errors) {
  if (const YamlNode* name = map.Require("name"); name != nullptr && config.name.empty()) {
    errors.Add(*name, "expected a certificate name");
  }
  if (const YamlNode* users = map.Require("users"); users != nullptr && config.users.empty()) {
    errors.Add(*users, "expected the users of the scheduler whose jobs the client may read");
  }
  CheckUsers(config.users, map, errors);
}

// A client has the permissions of all of its roles, so another one would make it no tenant.
void CheckTenants(const GrpcConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("tenants");
  if (node == nullptr) return;
  for (const auto& [key, names] :
       {std::pair("viewers", &config.viewers), std::pair("schedulers", &config.schedulers),
        std::pair("operators", &config.operators)}) {
    for (const TenantConfig& tenant : config.tenants) {
      if (std::ranges::find(*names, tenant.name) == names->end()) continue;
      errors.Add(*node, fmt::format("{} is also in `{}`, which permits it to read data of all "
                                    "jobs: remove it from one of the lists",
                                    Quoted(tenant.name), key));
    }
  }
}

void CheckTokens(const HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const tokens = map.Find("tokens");
  if (tokens == nullptr || config.tokens.empty()) return;
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  for (size_t i = 0; i < config.tokens.size(); ++i) {
    const auto is_same = [&](const TokenConfig& other) {
      return std::ranges::equal(other.sha256, config.tokens[i].sha256, {}, lower, lower);
    };
    if (IsDigest(config.tokens[i].sha256) &&
        std::any_of(config.tokens.begin(), config.tokens.begin() + static_cast<ptrdiff_t>(i),
                    is_same)) {
      errors.Add(*tokens, fmt::format("two tokens have the digest {}", config.tokens[i].sha256));
    }
  }
  if (config.tls.IsThere()) {
    errors.Add(*tokens,
               "tokens are for a listener without certificate, key and client_ca: with these, "
               "clients present certificates");
  }
}

template <HasKeys T>
void Read(const YamlNode& node, T& config, YamlErrors& errors, std::string_view what) {
  if (node.kind == YamlNode::Kind::kNull) return;  // all keys are omitted
  NamesOfKeys keys;
  VisitKeys(config, keys);
  const YamlMap map(node, what, keys.names, errors);
  Reader reader(map, what, errors);
  VisitKeys(config, reader);
  if constexpr (std::is_same_v<T, InterfaceConfig>) {
    if (const YamlNode* name = map.Require("name"); name != nullptr && config.name.empty()) {
      errors.Add(*name, "expected the name of an interface");
    }
  } else if constexpr (std::is_same_v<T, UdpConfig>) {
    CheckListens(config, map, errors);
  } else if constexpr (std::is_same_v<T, GrpcConfig>) {
    CheckAccess(config.listen, config.tls, node, errors);
    CheckTenants(config, map, errors);
  } else if constexpr (std::is_same_v<T, TenantConfig>) {
    CheckTenant(config, map, errors);
  } else if constexpr (std::is_same_v<T, TokenConfig>) {
    CheckToken(config, node, map, errors);
  } else if constexpr (std::is_same_v<T, HttpConfig>) {
    CheckNames(config, map, errors);
    CheckTokens(config, map, errors);
    CheckHealthListen(config, map, errors);
    CheckExternalUrl(config, map, errors);
    if (config.listen) CheckAccess({&*config.listen, 1}, config.tls, node, errors);
  } else if constexpr (std::is_same_v<T, ApplianceConfig>) {
    CheckPorts(config, map, errors);
  } else if constexpr (std::is_same_v<T, AgentConfig>) {
    CheckHost(config, map, errors);
  } else if constexpr (std::is_same_v<T, ScrapeTarget>) {
    map.Require("url");
  } else if constexpr (std::is_same_v<T, MetricRule>) {
    map.Require("from");
    map.Require("metric");
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

std::string TextOf(const std::string& value) { return Quoted(value); }
std::string TextOf(bool value) { return value ? "true" : "false"; }
template <typename T>
std::string TextOf(Within<T> within) {
  if constexpr (std::is_same_v<T, Duration>) {
    return FormatDuration(within.value);
  } else {
    return fmt::format("{}", within.value);
  }
}
std::string TextOf(Bytes bytes) { return FormatBytes(bytes.value); }
std::string TextOf(const ListenAddress& where) { return Quoted(ToString(where)); }
std::string TextOf(const IpPrefix& prefix) { return Quoted(ToString(prefix)); }
template <typename T>
std::string TextOf(const OneOf<T>& one) {
  for (const auto& [word, value] : one.words) {
    if (value == one.value) return std::string(word);
  }
  return "";
}
std::string TextOf(const AddressOrNone& where) {
  return where.value ? Quoted(ToString(*where.value)) : "none";
}
template <typename T>
std::string TextOf(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + TextOf(value);
  return '[' + text + ']';
}

std::string Hidden(const std::string& secret) {
  return secret.empty() ? secret : std::string(kRemoved);
}

enum class Secrets : uint8_t { kShown, kHidden };

class Writer {
 public:
  explicit Writer(Secrets secrets = Secrets::kShown) : secrets_(secrets) {}

  template <typename T>
  void Key(std::string_view name, T&& value, std::string_view meaning) {
    if (depth_ == 0 && !text_.empty()) text_ += '\n';
    Comment(meaning);
    Value(name, value);
  }
  template <typename T>
  void Key(std::string_view name, Secret<T> secret, std::string_view meaning) {
    T shown = secrets_ == Secrets::kHidden ? Hidden(secret.value) : secret.value;
    Key(name, shown, meaning);
  }
  void Key(std::string_view name, Url url, std::string_view meaning) {
    std::string shown = secrets_ == Secrets::kHidden ? UrlWithoutSecrets(url.value) : url.value;
    Key(name, shown, meaning);
  }

  std::string Take() { return std::move(text_); }

 private:
  void Line(std::string_view line) {
    text_ += fmt::format("{}{:{}}{}\n", is_comment_ ? "# " : "", "", 2 * depth_, line);
  }

  // One or more lines of at most 100 columns, if the words allow that.
  void Comment(std::string_view text) {
    const size_t width = 98 - 2 * depth_ - (is_comment_ ? 2 : 0);
    while (text.size() > width) {
      const size_t space = text.rfind(' ', width);
      if (space == std::string_view::npos) break;
      Line(fmt::format("# {}", text.substr(0, space)));
      text.remove_prefix(space + 1);
    }
    Line(fmt::format("# {}", text));
  }

  template <typename T>
  void Value(std::string_view name, T& value) {
    if constexpr (HasKeys<std::remove_const_t<T>>) {
      Line(fmt::format("{}:", name));
      Inside(value);
    } else {
      Line(fmt::format("{}: {}", name, TextOf(value)));
    }
  }

  // An empty list is shown as a commented-out example.
  template <HasKeys T>
  void Value(std::string_view name, std::vector<T>& values) {
    const bool is_comment = std::exchange(is_comment_, is_comment_ || values.empty());
    Line(fmt::format("{}:", name));
    std::vector<T> like(1);
    ++depth_;
    for (T& value : values.empty() ? like : values) {
      Line("-");
      Inside(value);
    }
    --depth_;
    is_comment_ = is_comment;
  }

  template <HasKeys T>
  void Inside(T& config) {
    ++depth_;
    VisitKeys(config, *this);
    --depth_;
  }

  const Secrets secrets_;
  std::string text_;
  size_t depth_ = 0;
  bool is_comment_ = false;
};

// The parts of a URL that may be secret, without "@" and "?".
struct UrlSecrets {
  std::string_view before;  // scheme
  std::string_view user;    // and password
  std::string_view middle;  // host, port and path
  std::string_view query;   // or fragment
  bool has_user = false;
  bool has_query = false;
};

UrlSecrets SecretsOfUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  UrlSecrets parts = {.before = url.substr(0, begin)};
  std::string_view rest = url.substr(begin);
  // The last "@", because a password can contain any character.
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    parts.has_user = true;
    parts.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  const size_t query = rest.find_first_of("?#");
  parts.middle = rest.substr(0, query);
  parts.has_query = query != std::string_view::npos;
  if (parts.has_query) parts.query = rest.substr(query + 1);
  return parts;
}

// Collects the values of the keys that are secrets.
class SecretCollector {
 public:
  template <typename T>
  void Key(std::string_view, Secret<T> secret, std::string_view) {
    Add(secret.value);
  }
  void Key(std::string_view, Url url, std::string_view) {
    // A shorter text would be found in words that it does not belong to.
    constexpr size_t kLeast = 4;
    const UrlSecrets secrets = SecretsOfUrl(url.value);
    for (const std::string_view secret : {secrets.user, secrets.query}) {
      if (secret.size() >= kLeast) secrets_.emplace_back(secret);
    }
  }
  template <typename T>
  void Key(std::string_view, T&& value, std::string_view) {
    using Value = std::remove_cvref_t<T>;
    if constexpr (HasKeys<Value>) {
      VisitKeys(value, *this);
    } else if constexpr (requires { requires HasKeys<typename Value::value_type>; }) {
      for (auto& one : value) VisitKeys(one, *this);
    }
  }

  std::vector<std::string> Take() { return std::move(secrets_); }

 private:
  void Add(const std::string& secret) {
    if (!secret.empty()) secrets_.push_back(secret);
  }

  std::vector<std::string> secrets_;
};

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

std::string DumpConfig(const ApplianceConfig& config) {
  ApplianceConfig copy = config;  // visitors take mutable references
  Writer writer;
  VisitKeys(copy, writer);
  return writer.Take();
}

std::string DumpConfigWithoutSecrets(const ApplianceConfig& config) {
  ApplianceConfig copy = config;
  Writer writer(Secrets::kHidden);
  VisitKeys(copy, writer);
  return writer.Take();
}

std::vector<std::string> SecretsOf(const ApplianceConfig& config) {
  ApplianceConfig copy = config;
  SecretCollector collector;
  VisitKeys(copy, collector);
  return collector.Take();
}

std::string UrlWithoutSecrets(std::string_view url) {
  const UrlSecrets parts = SecretsOfUrl(url);
  return fmt::format("{}{}{}{}", parts.before, parts.has_user ? fmt::format("{}@", kRemoved) : "",
                     parts.middle, parts.has_query ? fmt::format("?{}", kRemoved) : "");
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

std::string DumpAgentConfig(const AgentConfig& config) {
  AgentConfig copy = config;
  Writer writer;
  VisitKeys(copy, writer);
  return writer.Take();
}

}  // namespace rocescope
