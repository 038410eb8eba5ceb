/** A client of Galley, a content management service for sites. */
export { Galley } from "./client.js";
export * from "./error.js";
export { List } from "./list.js";
export { type Options, etag } from "./request.js";
export type * from "./schema.js";
export { SignatureError, type WebhookHeaders, verifyWebhook } from "./webhook.js";
