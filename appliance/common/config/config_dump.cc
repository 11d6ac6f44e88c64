// SPDX-License-Identifier: BSD-3-Clause
// Writes configurations, with or without their secrets.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "appliance/common/config/agent_config.h"
#include "appliance/common/config/agent_config_keys.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/config/config.h"
#include "appliance/common/config/config_keys.h"
#include "appliance/common/config/duration.h"
#include "appliance/common/config/has_keys.h"
#include "appliance/common/config/quoted_yaml.h"

namespace rocescope {
namespace {

std::string TextOf(const std::string& value) { return QuotedYaml(value); }
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
std::string TextOf(const ListenAddress& where) { return QuotedYaml(ToString(where)); }
std::string TextOf(const IpPrefix& prefix) { return QuotedYaml(ToString(prefix)); }
template <typename T>
std::string TextOf(const OneOf<T>& one) {
  for (const auto& [word, value] : one.words) {
    if (value == one.value) return std::string(word);
  }
  return "";
}
std::string TextOf(const AddressOrNone& where) {
  return where.value ? QuotedYaml(ToString(*where.value)) : "none";
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

}  // namespace

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

std::string DumpAgentConfig(const AgentConfig& config) {
  AgentConfig copy = config;
  Writer writer;
  VisitKeys(copy, writer);
  return writer.Take();
}

}  // namespace rocescope
