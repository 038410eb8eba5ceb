import type { ErrorDetail, Error as ServiceError } from "./schema.js";

/** The kind of an error, for programs. */
export type ErrorCode = ServiceError["code"];

/** An error that the service returned. There is a subclass for each code that programs handle. */
export class GalleyError extends Error {
  /** The kind of the error. */
  readonly code: ErrorCode;
  /** The status of the response. */
  readonly status: number;
  /** What is wrong with which field. */
  readonly details: ErrorDetail[];
  /** The id of the request, as the log of the server has it. */
  readonly requestId: string | null;
  /** The seconds to wait before the next attempt; 0 if the response did not say. */
  readonly retryAfter: number;

  constructor(response: Response, error: Pick<ServiceError, "code" | "message" | "details">) {
    const details = error.details ?? [];
    super([error.message, ...details.map((d) => `${d.field} ${d.message}`)].join("; "));
    this.name = "GalleyError";
    this.code = error.code;
    this.status = response.status;
    this.details = details;
    this.requestId = response.headers.get("x-request-id");
    this.retryAfter = Number(response.headers.get("retry-after")) || 0;
  }
}

/** A body, parameter or header is not valid; `details` has the fields. */
export class BadRequestError extends GalleyError {}
/** The key is missing, unknown, revoked or expired. */
export class UnauthorizedError extends GalleyError {}
/** The key may not do this. */
export class ForbiddenError extends GalleyError {}
/** The resource does not exist. */
export class NotFoundError extends GalleyError {}
/** The state of the resource does not allow this, or a name is taken. */
export class ConflictError extends GalleyError {}
/** The cursor is older than the events that are kept. */
export class GoneError extends GalleyError {}
/** The resource does not have the entity tag of `ifMatch`. */
export class PreconditionFailedError extends GalleyError {}
/** A rate limit was exceeded, also after the retries. */
export class TooManyRequestsError extends GalleyError {}
/** The server, or a proxy before it, could not take the request, also after the retries. */
export class UnavailableError extends GalleyError {}

/** No response came, also after the retries. `cause` says why. The server may have done what was asked. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super("No response: " + (cause as Error)?.message, { cause });
    this.name = "ConnectionError";
  }
}

const classes: Record<string, typeof GalleyError> = {
  bad_request: BadRequestError,
  unauthorized: UnauthorizedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  conflict: ConflictError,
  gone: GoneError,
  precondition_failed: PreconditionFailedError,
  too_many_requests: TooManyRequestsError,
  unavailable: UnavailableError,
};

/** The codes of responses that come from a proxy. */
const codes: Record<number, ErrorCode> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  429: "too_many_requests",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** Makes the error of a response. One that is not the service's has the status as its message. */
export function newError(response: Response, text: string): GalleyError {
  let error;
  try {
    error = JSON.parse(text);
  } catch {}
  if (!error?.code) {
    error = { code: codes[response.status] ?? "internal_error", message: `${response.status} ${response.statusText}` };
  }
  return new (classes[error.code] ?? GalleyError)(response, error);
}
