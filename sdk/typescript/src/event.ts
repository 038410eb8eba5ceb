import { GalleyError } from "./error.js";
import { type CallOptions, type Settings, backoff, busy, newCall, open } from "./request.js";
import type { Event } from "./schema.js";

/**
 * Follows events as they happen. When the connection ends, or is silent for the timeout, it
 * connects again and goes on after the last event. It ends with the signal of the
 * parameters or with an error of the service.
 */
export async function* stream(s: Settings, params: CallOptions = {}): AsyncGenerator<Event, void, undefined> {
  let lastEventId: string | undefined;
  for (let attempt = 0; ; attempt++) {
    const end = new AbortController();
    let failure: unknown;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(() => end.abort(), s.timeout);
    };
    try {
      watch();
      const response = await open(s, newCall(s, "GET", "/v2/events/stream", undefined, { ...params, lastEventId }), end.signal);
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        watch();
        const { done, value } = await reader.read();
        clearTimeout(timer); // the time that the caller takes for an event does not count
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          if (!line.startsWith("data: ")) continue;
          const event: Event = JSON.parse(line.slice(6));
          lastEventId = event.id;
          attempt = 0;
          yield event;
        }
      }
    } catch (error) {
      params.signal?.throwIfAborted();
      if (error instanceof GalleyError && !busy(error)) throw error;
      failure = error;
    } finally {
      clearTimeout(timer);
      end.abort(); // closes the connection, also when the caller has enough
    }
    await backoff(s, attempt, failure, params.signal);
  }
}
