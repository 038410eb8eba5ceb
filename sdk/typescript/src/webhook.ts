import type { Event } from "./schema.js";

/** A request was not signed with the secret of the webhook, or not within five minutes. */
export class SignatureError extends Error {
  override name = "SignatureError";
}

/** The headers of a request: those of fetch, or those of Node.js. */
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

const tolerance = 300; // seconds

const bytes = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/**
 * Checks that a request with these headers and this body, as it was received, was signed with
 * the secret of a webhook within five minutes, by the Standard Webhooks specification, and
 * returns its event. It throws a SignatureError otherwise.
 */
export async function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<Event> {
  const header = (name: string) =>
    String((typeof headers.get === "function" ? headers.get(name) : (headers as Record<string, unknown>)[name]) ?? "");
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret.replace("whsec_", "")), hmac, false, ["verify"]);
  const timestamp = header("webhook-timestamp");
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) <= tolerance) {
    const signed = await new Blob([header("webhook-id"), ".", timestamp, ".", body]).arrayBuffer();
    for (const signature of header("webhook-signature").split(" ")) {
      const [version, value] = signature.split(",");
      let given;
      try {
        given = bytes(value ?? "");
      } catch {
        continue;
      }
      if (version === "v1" && (await crypto.subtle.verify(hmac, key, given, signed))) {
        return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body));
      }
    }
  }
  throw new SignatureError("The signature of the webhook is not valid");
}
