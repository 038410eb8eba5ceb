import { once } from "node:events";
import { type IncomingMessage, type RequestListener, createServer, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** Serves HTTP for one test, and returns the address. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** Numbers from 0 to 1 that are the same for a seed (mulberry32). */
export function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Sends a request on to a server, and returns its response. */
export async function forward(url: string, r: IncomingMessage): Promise<IncomingMessage> {
  const sent = request(url + r.url, { method: r.method, headers: r.headers, agent: false });
  r.pipe(sent);
  const [response] = await once(sent, "response");
  return response;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * A proxy that answers some requests itself, delays some, and cuts some connections: before
 * the server gets the request, while it works, before its response and within it.
 */
export function flaky(url: string, seed: number): Promise<string> {
  const chance = random(seed);
  return serve(async (r, w) => {
    const kind = Math.floor(chance() * 12);
    if (kind === 0) {
      return w.writeHead(429, { "retry-after": "0" }).end('{"object":"error","code":"too_many_requests","message":"Slow down"}');
    }
    if (kind === 1) return w.writeHead(503).end("upstream");
    if (kind === 2) return w.writeHead(502).end("upstream");
    if (kind === 3) return void w.destroy();
    if (kind === 4) await pause(5);
    const answer = forward(url, r);
    if (kind === 5) {
      answer.catch(() => {});
      await pause(chance() * 3);
      return void w.destroy(); // while the server works
    }
    const response = await answer;
    const text = await buffer(response);
    if (kind === 6) return void w.destroy(); // the response is lost
    w.writeHead(response.statusCode!, response.headers);
    if (kind !== 7 || text.length === 0) return w.end(text);
    w.write(text.subarray(0, text.length / 2), () => w.destroy()); // within the response
  });
}
