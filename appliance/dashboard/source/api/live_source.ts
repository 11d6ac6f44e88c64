// SPDX-License-Identifier: BSD-3-Clause
// Responses of the appliance that served this page.
import { BoxEvents } from "./box_events";
import type { Answer, DataSource, SourceListener } from "./data_source";
import type { ApiError } from "./messages";

const kTimeoutMs = 20_000;

function isApiError(value: unknown): value is ApiError {
  return typeof value === "object" && value !== null && "message" in value && "reason" in value;
}

async function refusal(response: Response): Promise<Answer> {
  const text = await response.text().catch(() => "");
  let error: ApiError = {
    code: "",
    reason: `HTTP_${response.status}`,
    message: `The appliance responded with ${response.status} ${response.statusText}.`,
  };
  try {
    const value: unknown = JSON.parse(text);
    if (isApiError(value)) error = value;
  } catch {
    // The response is not from the appliance, for example a proxy's error page.
  }
  return { kind: "refused", status: response.status, error };
}

export class LiveSource implements DataSource {
  readonly live = true;

  async get(path: string): Promise<Answer> {
    try {
      const response = await fetch(path, {
        headers: { Accept: "application/json" },
        signal: AbortSignal.timeout(kTimeoutMs),
      });
      if (!response.ok) return await refusal(response);
      return { kind: "answer", value: await response.json() };
    } catch (reason) {
      return { kind: "unreachable", message: String(reason) };
    }
  }

  watch(listener: SourceListener): () => void {
    const events = new BoxEvents("/api/v1/events", listener);
    return () => events.close();
  }
}
