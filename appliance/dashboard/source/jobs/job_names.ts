// SPDX-License-Identifier: BSD-3-Clause
// The names of jobs, which responses refer to by id.
import type { ListJobsResponse } from "../api/messages";
import { useResource } from "../store/use_store";
import { jobTitle } from "./trouble";

// The name that the scheduler reports; without one, the id.
export function useJobNames(): (id: string) => string {
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs").value?.jobs;
  return (id) => {
    const job = jobs?.find((candidate) => candidate.job_id === id);
    return job ? jobTitle(job) : id;
  };
}
