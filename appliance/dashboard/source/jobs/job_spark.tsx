// SPDX-License-Identifier: BSD-3-Clause
// The iteration time of a job in the last hour. Without a history: since the page was opened.
import type { GetJobHistoryResponse, JobSummary } from "../api/messages";
import { duration, toNanoseconds } from "../format/quantities";
import { iterationOf, timeline, valuesAt } from "../history/points";
import { useHistory } from "../history/use_history";
import type { TimeWindow } from "../history/window";
import { Sparkline } from "../parts/sparkline";
import { useMinute } from "../past/minute_context";
import { useShared } from "../store/use_store";

const kPoints = 60;

export function JobSpark({ job, window }: { job: JobSummary; window?: TimeWindow }) {
  const { histories } = useShared();
  const isPast = useMinute() !== undefined;
  const history = useHistory<GetJobHistoryResponse>("jobs", window ? job.job_id : "", window ?? { startS: 0, endS: 0 }, kPoints);
  const points = history.value?.points ?? [];
  const times = timeline([points], toNanoseconds(history.value?.step) / 1e9);
  const values = valuesAt(times, points, iterationOf);
  const collected = isPast ? [] : (histories.jobs.get(job.job_id) ?? []);
  const stored = values.filter((value) => value !== null).length > 1;
  const shown = stored ? values : collected.map((value) => value.periodNs ?? null);
  const known = shown.filter((value): value is number => value !== null);
  if (known.length < 2) return <span class="sparkline-empty">{job.iteration_period === undefined ? "not detected" : isPast ? "not stored" : "collecting"}</span>;
  const span = !stored ? "since this page was opened" : isPast ? "in the hour before" : "in the last hour";
  return (
    <Sparkline times={stored ? times : collected.map((value) => value.timeS)} values={shown}
      label={`Iteration time ${span}: ${duration(Math.min(...known))} to ${duration(Math.max(...known))}`} />
  );
}
