import { ConnectionError, GalleyError, newError } from "./error.js";

/** Settings of a client. */
export interface Options {
  /** An App key, a Site key or the token of a preview. */
  key?: string;
  /** The person for whom the program writes, for the audit trail. */
  actor?: string;
  /** How often a request is sent again, 5 times unless given. */
  retries?: number;
  /** Milliseconds before the first retry, 200 unless given. Each pause is twice the one before, less a random part. */
  pause?: number;
  /** Milliseconds until an attempt without a response counts as lost, 60,000 unless given. */
  timeout?: number;
  /** Replaces the global fetch. */
  fetch?: typeof fetch;
}

/** Where a client sends requests, and how. */
export interface Settings extends Required<Omit<Options, "key" | "actor">>, Pick<Options, "key" | "actor"> {
  url: string;
}

/** The last argument of a call: options, and the parameters of its query. */
export interface CallOptions {
  signal?: AbortSignal;
  actor?: string;
  ifMatch?: string | object;
  ifNoneMatch?: string;
  idempotencyKey?: string;
  lastEventId?: string;
  [parameter: string]: unknown;
}

const maxPause = 30_000;

const etags = new WeakMap<object, string>();

/** Returns the entity tag of an object that a call returned. The items of lists have none. */
export function etag(resource: object): string {
  const tag = etags.get(resource);
  if (!tag) throw new TypeError("The object has no entity tag: get it by itself");
  return tag;
}

/** A request before it is sent. */
export interface Call {
  url: URL;
  method: string;
  headers: Headers;
  body?: string;
  signal?: AbortSignal;
}

/** Makes a request. Reads have no header that a browser may not send to another origin. */
export function newCall(s: Settings, method: string, path: string, body?: unknown, params: CallOptions = {}): Call {
  const { signal, actor = s.actor, ifMatch, ifNoneMatch, idempotencyKey, lastEventId, ...query } = params;
  const url = new URL(s.url + path);
  for (const [name, value] of Object.entries(query)) {
    if (value != null) url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const headers = new Headers();
  const set = (name: string, value?: string) => value !== undefined && headers.set(name, value);
  set("x-api-key", s.key);
  set("x-actor", method === "GET" ? undefined : actor);
  set("content-type", body === undefined ? body : "application/json");
  set("if-match", typeof ifMatch === "object" ? etag(ifMatch) : ifMatch);
  set("if-none-match", ifNoneMatch);
  set("idempotency-key", idempotencyKey ?? (method === "POST" ? crypto.getRandomValues(new Uint32Array(4)).join("-") : undefined));
  set("last-event-id", lastEventId);
  return { url, method, headers, body: JSON.stringify(body), signal };
}

/** Sends a request once. An error of the service is a GalleyError; any other means that the response was lost. */
export async function open(s: Settings, call: Call, end: AbortSignal): Promise<Response> {
  const signal = call.signal ? AbortSignal.any([call.signal, end]) : end;
  const response = await s.fetch(call.url, { ...call, signal });
  if (!response.ok) throw newError(response, await response.text());
  return response;
}

/** Whether a request may be sent again after an error of the service. */
export const busy = ({ code }: GalleyError) => code === "too_many_requests" || code === "unavailable";

/** Waits before the next attempt. */
export async function backoff(s: Settings, attempt: number, error: unknown, signal?: AbortSignal): Promise<void> {
  const pause = Math.min(s.pause * 2 ** attempt, maxPause) * (1 - Math.random() / 2);
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(pause, error instanceof GalleyError ? error.retryAfter * 1000 : 0));
    signal?.addEventListener("abort", done);
  });
  signal?.throwIfAborted();
}

/** Sends a request until there is a response that a repetition would not change, and decodes it. */
export async function send(s: Settings, call: Call, binary = false): Promise<unknown> {
  let lost = false; // the response of an earlier attempt: the server may have done it
  for (let attempt = 0; ; attempt++) {
    let response, data;
    try {
      response = await open(s, call, AbortSignal.timeout(s.timeout));
      data = await (binary ? response.blob() : response.text());
    } catch (error) {
      call.signal?.throwIfAborted();
      let again;
      if (error instanceof GalleyError) {
        // The attempt whose response was lost has deleted it.
        if (lost && call.method === "DELETE" && error.status === 404) return;
        // The attempt whose response was lost may still be in progress.
        again = busy(error) || (lost && call.method === "POST" && error.status === 409);
        lost ||= error.status === 502 || error.status === 504;
      } else {
        // A lost attempt may have changed the entity tag.
        again = !call.headers.has("if-match");
        lost = true;
      }
      if (!again || attempt >= s.retries) throw error instanceof GalleyError ? error : new ConnectionError(error);
      await backoff(s, attempt, error, call.signal);
      continue;
    }
    if (typeof data !== "string" || !response.headers.get("content-type")?.includes("json")) return data || undefined;
    const resource = JSON.parse(data);
    const tag = response.headers.get("etag");
    if (tag) etags.set(resource, tag);
    return resource;
  }
}
