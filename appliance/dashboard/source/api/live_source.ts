// SPDX-License-Identifier: BSD-3-Clause
// Responses of the appliance that served this page.
import { ApplianceEvents } from "./appliance_events";
import type { Answer, ApiError, DataSource, SourceListener } from "./data_source";

const kTimeoutMs = 20_000;

interface ErrorBody {
  error: {
    code: number;
    message: string;
    status: string;
    details: { "@type": string; reason?: string }[];
  };
}

function isErrorBody(value: unknown): value is ErrorBody {
  if (typeof value !== "object" || value === null || !("error" in value)) return false;
  const { error } = value;
  return (
    typeof error === "object" &&
    error !== null &&
    "message" in error &&
    "details" in error &&
    Array.isArray(error.details)
  );
}

async function refusal(response: Response): Promise<Answer> {
  const text = await response.text().catch(() => "");
  let error: ApiError = {
    reason: `HTTP_${response.status}`,
    message: `The appliance responded with ${response.status} ${response.statusText}.`,
  };
  try {
    const value: unknown = JSON.parse(text);
    if (isErrorBody(value)) {
      const { message, details, status } = value.error;
      error = { message, reason: details.find((detail) => detail.reason)?.reason ?? status };
    }
  } catch {
    // The response is not from the appliance, for example a proxy's error page.
  }
  return { kind: "refused", status: response.status, error };
}

export class LiveSource implements DataSource {
  readonly live = true;

  get(path: string): Promise<Answer> {
    return this.request(path, { headers: { Accept: "application/json" } });
  }

  post(path: string, body: Record<string, string>): Promise<Answer> {
    const headers = { Accept: "application/json", "Content-Type": "application/json" };
    return this.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  private async request(path: string, options: RequestInit): Promise<Answer> {
    try {
      const response = await fetch(path, { ...options, signal: AbortSignal.timeout(kTimeoutMs) });
      if (!response.ok) return await refusal(response);
      return { kind: "answer", value: await response.json() };
    } catch (reason) {
      return { kind: "unreachable", message: String(reason) };
    }
  }

  watch(listener: SourceListener): () => void {
    const events = new ApplianceEvents("/api/v1/events", listener);
    return () => events.close();
  }
}
