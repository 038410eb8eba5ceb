import { stream } from "./event.js";
import { List, type ListPage, type ReadPage } from "./list.js";
import { operations } from "./operations.js";
import { type CallOptions, type Options, type Settings, newCall, send } from "./request.js";
import type { Event, Publish, PublishCreate, PublishDryRun, paths } from "./schema.js";

/** The methods of HTTP, by the verbs of the table. */
interface Methods {
  list: "get";
  get: "get";
  blob: "get";
  act: "post";
  post: "post";
  put: "put";
  patch: "patch";
  delete: "delete";
}

type PathOf<P> = P extends `${infer Path}?${string}` ? Path : P;

/** The operation of the document that a row of the table names. */
type OperationOf<Row> = Row extends `${infer Verb extends keyof Methods} ${infer Path}`
  ? PathOf<Path> extends keyof paths
    ? paths[PathOf<Path>][Methods[Verb]]
    : never
  : never;

type PathArguments<Row> = Row extends `${string}{${string}}${string}{${string}}${string}`
  ? [id: string, localeIdOrCode: string]
  : Row extends `${string}{${string}}${string}`
    ? [id: string]
    : [];

type BodyOf<O> = O extends { requestBody?: infer R } ? (R extends { content: { "application/json": infer B } } ? B : never) : never;

type BodyArguments<O> = [BodyOf<O>] extends [never] ? [] : O extends { requestBody: object } ? [body: BodyOf<O>] : [body?: BodyOf<O>];

type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? ([NonNullable<Q>] extends [never] ? {} : NonNullable<Q>) : {};

/** Lists may be arrays, and times may be dates. */
type QueryValue<Name, Value> = string extends Value
  ? Value | (Name extends "types" | "status" | "pageIds" | "redirectIds" | "locales" ? readonly string[] : Name extends "since" | "until" ? Date : never)
  : Value;

/** The parameters of a query, without those that the row of the table sets. */
type Query<Row, O> = {
  [Name in keyof QueryOf<O> as Row extends `${string}?${Name & string}=${string}` ? never : Name]: QueryValue<Name, QueryOf<O>[Name]>;
};

type HeaderOf<O> = O extends { parameters: { header?: infer H } } ? keyof NonNullable<H> : never;

interface SignalOption {
  /** Ends the call. */
  signal?: AbortSignal;
}
interface WriteOptions {
  /** The person for whom the program writes, for the audit trail. */
  actor?: string;
}
interface IfMatchOption extends WriteOptions {
  /** Fails with a PreconditionFailedError unless the resource still has this entity tag, or that of this object. */
  ifMatch?: string | object;
}
interface IfNoneMatchOption {
  /** With `*`, fails with a PreconditionFailedError if there is something already. */
  ifNoneMatch?: string;
}
interface IdempotencyOption extends WriteOptions {
  /** Replaces the random key of a POST, for programs that repeat a call after a restart. */
  idempotencyKey?: string;
}

type Params<Row, O> = Query<Row, O> &
  SignalOption &
  ("Idempotency-Key" extends HeaderOf<O> ? IdempotencyOption : {}) &
  ("If-Match" extends HeaderOf<O> ? IfMatchOption & ("If-None-Match" extends HeaderOf<O> ? IfNoneMatchOption : {}) : {});

type ParamsArguments<P> = {} extends P ? [params?: P] : [params: P];

type ContentOf<R> = R extends { content: infer C } ? C[keyof C] : undefined;

type ResultOf<O> = O extends { responses: infer R } ? { [S in keyof R & (200 | 201 | 202 | 204)]: ContentOf<R[S]> }[keyof R & (200 | 201 | 202 | 204)] : never;

type Returned<Row, R> = Row extends `list ${string}` ? (R extends ListPage ? List<R> : never) : Promise<Row extends `blob ${string}` ? Blob : R>;

type Method<Row, O = OperationOf<Row>> = (
  ...args: [...PathArguments<Row>, ...BodyArguments<O>, ...ParamsArguments<Params<Row, O>>]
) => Returned<Row, ResultOf<O>>;

type Service<Rows> = { readonly [Name in keyof Rows]: Method<Rows[Name]> };

type Services = {
  readonly [Name in keyof typeof operations]: (typeof operations)[Name] extends string
    ? Method<(typeof operations)[Name]>
    : Service<(typeof operations)[Name]>;
};

type StreamRow = "get /v2/events/stream";
type PublishRow = (typeof operations.sites)["publish"];
type PublishParams = Params<PublishRow, OperationOf<PublishRow>>;
type Selection = Omit<PublishCreate, "dryRun">;

/** A client of a Galley server, with a service for each noun. */
export interface Galley extends Omit<Services, "events" | "sites"> {
  /** The events of the workspace. */
  readonly events: Services["events"] & {
    /**
     * Follows events as they happen, from the cursor or from now on. It connects again by
     * itself, and ends with the signal or with an error of the service.
     */
    stream(params?: Params<StreamRow, OperationOf<StreamRow>>): AsyncGenerator<Event, void, undefined>;
  };
  /** The sites of the workspace. */
  readonly sites: Omit<Services["sites"], "publish"> & {
    /** Publishes the draft of a site, or a selection of it. */
    publish(id: string, body?: Selection, params?: PublishParams): Promise<Publish>;
    /** Tells what publish would do, and changes nothing. */
    dryRun(id: string, body?: Selection, params?: PublishParams): Promise<PublishDryRun>;
  };
}

/** A client of a Galley server, with a service for each noun. */
export class Galley {
  /** Makes a client of the server at an address such as http://127.0.0.1:8080. */
  constructor(url: string, { retries = 5, pause = 200, timeout = 60_000, fetch = globalThis.fetch.bind(globalThis), ...options }: Options = {}) {
    const settings: Settings = { ...options, retries, pause, timeout, fetch, url: url.replace(/\/+$/, "") };
    const services = build(settings, operations) as Services;
    const { publish } = services.sites as { publish: Function };
    Object.assign(this, services, {
      events: { ...services.events, stream: (params: CallOptions) => stream(settings, params) },
      sites: {
        ...services.sites,
        dryRun: (id: string, body: object, params: CallOptions) => publish(id, { ...body, dryRun: true }, params),
      },
    });
  }
}

/** Makes the methods of the rows of the table. */
function build(s: Settings, rows: string | object): unknown {
  return typeof rows === "string"
    ? method(s, rows)
    : Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, build(s, row)]));
}

function method(s: Settings, row: string) {
  const [verb, path] = row.split(" ") as [string, string];
  const name = { list: "GET", blob: "GET", act: "POST" }[verb] ?? verb.toUpperCase();
  const hasBody = /^p/.test(verb);
  return (...args: unknown[]) => {
    const target = path.replace(/{\w+}/g, () => segment(args.shift()));
    const body = hasBody ? args.shift() : undefined;
    const call = async (cursor?: object, limit?: number) =>
      send(s, newCall(s, name, target, body, { limit, ...(args[0] as object), ...cursor }), verb === "blob");
    return verb === "list" ? new List(call as ReadPage<ListPage>, path.startsWith("/v5") ? "after" : "startingAfter") : call();
  };
}

/** Escapes a segment of a path. Those that would lead to another resource are refused. */
function segment(value: unknown): string {
  const text = String(value ?? "");
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`"${text}" is no id`);
  return encodeURIComponent(text);
}
