// SPDX-License-Identifier: BSD-3-Clause
// Writes events and snapshots to the history store.
#pragma once

#include <cstdint>
#include <memory>

#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/history/roll_up.h"
#include "appliance/daemon/service/answer_view.h"

namespace rocescope {

class HistoryFeed {
 public:
  // Writes snapshots to the history store. Does nothing if the store is null; else the store must
  // outlive it. Not thread-safe.
  HistoryFeed(HistoryStore* store, std::shared_ptr<const topology::Fabric> fabric);

  void Keep(const v1::Event& event);
  void LookAt(const AnswerView& answer);
  // Writes incomplete minutes as far as they are known.
  void End();

 private:
  void Add(std::vector<HistoryRow> rows);
  void AddJobs(const AnswerView& answer);
  void AddAnswers(const AnswerView& answer);
  void Restart();

  HistoryStore* const store_;
  LinkRollUp links_;
  JobRollUp jobs_;
  Timestamp jobs_reached_;
  int64_t answers_minute_ = INT64_MIN;  // minute of the last stored answers
  uint32_t restarted_ = 0;              // restarts by the last snapshot
};

}  // namespace rocescope
