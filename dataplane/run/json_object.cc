// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/nearest.h"

namespace rocescope {
namespace {

using Json = nlohmann::json;

const Json kEmptyObject = Json::object();

// Keys come from outside, so their length in messages is limited.
std::string Shown(std::string_view key) {
  constexpr size_t kMost = 40;
  return key.size() <= kMost ? std::string(key) : std::string(key.substr(0, kMost)) + "...";
}

}  // namespace

Result<Json> ParseJsonStrictly(std::string_view text) {
  // Without this check a second value of a key would silently replace the first.
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second && twice.empty()) twice = key;
    }
    return true;
  };
  try {
    Json value = Json::parse(text, look);
    if (twice.empty()) return value;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("duplicate key \"{}\"", Shown(twice)));
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string message = error.what();
    if (const size_t at = message.find("line "); at != std::string::npos) message.erase(0, at);
    constexpr size_t kMost = 200;
    if (message.size() > kMost) message.resize(kMost);
    return MakeError(ErrorCode::kInvalidArgument, std::move(message));
  }
}

JsonObject::JsonObject(const Json& value, std::string path)
    : value_(&value), path_(std::move(path)) {
  if (value.is_object()) return;
  failure_ = path_.empty() ? "expected an object" : fmt::format("{}: expected an object", path_);
  value_ = &kEmptyObject;
}

std::string JsonObject::PathOf(std::string_view key) const {
  return path_.empty() ? Shown(key) : fmt::format("{}.{}", path_, Shown(key));
}

const Json* JsonObject::Find(std::string_view key) {
  known_.emplace_back(key);
  const auto at = value_->find(key);
  if (at != value_->end()) return &*at;
  Fail(fmt::format("{}: missing key", PathOf(key)));
  return nullptr;
}

bool JsonObject::Has(std::string_view key) {
  known_.emplace_back(key);
  return value_->contains(key);
}

std::vector<std::string> JsonObject::Keys() {
  std::vector<std::string> keys;
  for (const auto& [key, value] : value_->items()) keys.push_back(key);
  known_.insert(known_.end(), keys.begin(), keys.end());
  return keys;
}

uint64_t JsonObject::Unsigned(std::string_view key, uint64_t least, uint64_t most) {
  const Json* found = Find(key);
  if (found == nullptr) return 0;
  if (found->is_number_unsigned()) {
    const auto value = found->get<uint64_t>();
    if (value >= least && value <= most) return value;
  }
  Fail(fmt::format("{}: expected an integer from {} to {}", PathOf(key), least, most));
  return 0;
}

double JsonObject::Number(std::string_view key) {
  const Json* found = Find(key);
  if (found == nullptr) return 0;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  Fail(fmt::format("{}: expected a number", PathOf(key)));
  return 0;
}

bool JsonObject::Bool(std::string_view key) {
  const Json* found = Find(key);
  if (found == nullptr) return false;
  if (found->is_boolean()) return found->get<bool>();
  Fail(fmt::format("{}: expected true or false", PathOf(key)));
  return false;
}

std::string JsonObject::Text(std::string_view key, size_t longest) {
  const Json* found = Find(key);
  if (found == nullptr) return {};
  if (found->is_string()) {
    const auto& text = found->get_ref<const std::string&>();
    if (!text.empty() && text.size() <= longest) return text;
  }
  Fail(fmt::format("{}: expected a string of 1 to {} bytes", PathOf(key), longest));
  return {};
}

JsonObject JsonObject::Object(std::string_view key) {
  const Json* found = Find(key);
  return {found == nullptr ? kEmptyObject : *found, PathOf(key)};
}

void JsonObject::Fail(std::string message) {
  if (!failure_) failure_ = std::move(message);
}

void JsonObject::Adopt(JsonObject& inner) {
  if (const Status finished = inner.Finish(); !finished) Fail(finished.error().message);
}

Status JsonObject::Finish() {
  for (const auto& [key, value] : value_->items()) {
    if (failure_) break;
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    Fail(fmt::format("{}: unknown key{}", PathOf(key), DidYouMean(key, known)));
  }
  if (failure_) return MakeError(ErrorCode::kInvalidArgument, *failure_);
  return {};
}

}  // namespace rocescope
