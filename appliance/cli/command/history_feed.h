// SPDX-License-Identifier: BSD-3-Clause
// What of events and answers goes into the history.
#pragma once

#include <memory>

#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/history/roll_up.h"
#include "appliance/daemon/service/answer_view.h"

namespace rocescope {

class HistoryFeed {
 public:
  // Nothing happens without a store, which else must outlive it. Of one thread.
  HistoryFeed(HistoryStore* store, std::shared_ptr<const topology::Fabric> fabric);

  void Keep(const v1::Event& event);
  void LookAt(const AnswerView& answer);
  // Minutes that are not over are written as far as they have come.
  void End();

 private:
  void Add(std::vector<HistoryRow> rows);
  void AddJobs(const AnswerView& answer);
  void Restart();

  HistoryStore* const store_;
  LinkRollUp links_;
  JobRollUp jobs_;
  Timestamp jobs_reached_;
  uint32_t restarted_ = 0;  // by the last answer
};

}  // namespace rocescope
