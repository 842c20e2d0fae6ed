/** Client of a served memorybook: every path of its API, typed, with errors, a token and repeated requests. */

import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type { components, operations, paths } from "./schema.js";

/** What the server answers and takes, by name: `Schema<"search.types.Answer">`. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** A refusal of the server, or (status 0, code `unavailable`) no answer at all. */
export class MemoryBookError extends Error {
  override readonly name = "MemoryBookError";

  /**
   * @param status HTTP status; 0 if there was no answer.
   * @param code The server's code, such as `not_found`, `conflict`, `too_many`.
   */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    options?: ErrorOptions,
    /** The request's id in the log of the server; "" without an answer of one. */
    readonly requestId = "",
    /** Of a `conflict`: what is there now, the text of a document or an entry. */
    readonly current?: Record<string, unknown>,
  ) {
    super(message, options);
  }
}

/** How to reach a server. */
export interface Options {
  /** The address that `memorybook serve` prints. */
  url: string;
  /** The owner's token, or one that the owner issued. */
  token: string;
  /** Whose book is used, with the owner's token of a server with several. */
  tenant?: string;
  /** Milliseconds to wait for each answer; 150,000 by default, longer than the server takes. */
  timeout?: number;
  /** Used instead of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Milliseconds before a request is sent again. */
const WAITS = [200, 1000];
const LONGEST_WAIT = 5000;

/** Codes of refusals before anything was done, after which any request can be sent again. */
const NOT_BEGUN = new Set(["busy", "too_many"]);

/**
 * Return a client for every path of the API: `GET`, `POST`, `PUT`, `PATCH` and `DELETE`, as openapi-fetch has them.
 *
 * The token is sent to `url` alone: redirects are refused. What is refused is thrown as a `MemoryBookError`, so that
 * `data` is there whenever a call returns. A request is sent again, at most twice, if the server says that it has not
 * begun it, or if it only reads and the connection broke. A write whose connection broke is not repeated: it may be done.
 */
export function connect(options: Options): Client<paths> {
  const base = options.url.replace(/\/+$/, "");
  const send = options.fetch ?? ((request: Request) => globalThis.fetch(request));
  const headers: Record<string, string> = { Authorization: `Bearer ${options.token}` };
  if (options.tenant !== undefined) headers["X-Memorybook-Tenant"] = options.tenant;
  const wait = options.timeout ?? 150_000;
  return createClient<paths>({
    baseUrl: base,
    headers,
    redirect: "error",
    fetch: (request) => sent(request, (one) => send(new Request(one, { signal: limit(one.signal, wait) })), base),
  });
}

/** For one call. */
export interface Call {
  /** Ends the waiting: the call throws the signal's reason, and a write may be done all the same. */
  signal?: AbortSignal;
}

/** What most agents need, one method each. The client below it reaches the rest. */
export class MemoryBook {
  /** Every path of the API. */
  readonly api: Client<paths>;

  constructor(options: Options) {
    this.api = connect(options);
  }

  /** Remember a statement; one that says the same is strengthened instead. */
  async remember(text: string, more: Omit<Body<"/api/v1/entries">, "text"> = {}, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/entries", { body: { text, ...more }, signal }));
  }

  /** Search entries, notes, documents and past turns. */
  async search(query: string, more: Omit<Body<"/api/v1/search">, "query"> = {}, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/search", { body: { query, ...more }, signal }));
  }

  /** Return the block of memories to put into a prompt for a message. */
  async recall(query: string, more: Omit<Body<"/api/v1/prompt">, "query"> = {}, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/prompt", { body: { query, ...more }, signal }));
  }

  /** Recall past conversations if a text asks for them ("what did we say about …"); null if it asks for nothing. */
  async recollect(text: string, more: Omit<Body<"/api/v1/recall">, "text"> = {}, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/recall", { body: { text, ...more }, signal }));
  }

  /** List entries, strongest first. */
  async entries(query: Query<"/api/v1/entries"> = {}, { signal }: Call = {}) {
    return done(await this.api.GET("/api/v1/entries", { params: { query }, signal }));
  }

  /** Change fields of an entry; others stay. */
  async update(id: string, fields: Fields, { signal }: Call = {}) {
    const params = { path: { id }, header: { "If-Match": "*" } };
    return done(await this.api.PATCH("/api/v1/entries/{id}", { params, body: fields, signal }));
  }

  /** Say that an entry still holds. */
  async confirm(id: string, more: Body<"/api/v1/entries/{id}/confirm"> = {}, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/entries/{id}/confirm", { params: { path: { id } }, body: more, signal }));
  }

  /** Forget what is meant by an id, a query, a session or a source; with `dry_run` only say what that is. */
  async forget(what: Body<"/api/v1/forget">, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/forget", { body: what, signal }));
  }

  /** Take an operation back, such as a forgetting. */
  async undo(operation: string, more: Body<"/api/v1/operations/{operation}/undo"> = {}, { signal }: Call = {}) {
    const params = { path: { operation } };
    return done(await this.api.POST("/api/v1/operations/{operation}/undo", { params, body: more, signal }));
  }

  /** Return the text of a document, with its revision. */
  async document(path: string, { signal }: Call = {}) {
    const headers = { Accept: "application/json" };
    const answer = await this.api.GET("/api/v1/documents/{path}", { params: { path: { path } }, headers, signal });
    return done(answer as { data?: Schema<"formats.document.Document"> });
  }

  /** Write the text of a document: over what is there, or only if it still has the revision `expect` ("" if it is new). */
  async writeDocument(path: string, text: string, { expect, signal }: Call & { expect?: string } = {}) {
    const header = expect === undefined ? {} : expect ? { "If-Match": `"${expect}"` } : { "If-None-Match": "*" };
    const answer = await this.api.PUT("/api/v1/documents/{path}", {
      params: { path: { path }, query: { overwrite: expect === undefined }, header },
      body: text,
      bodySerializer: (body) => body,
      headers: { "Content-Type": "text/markdown" },
      signal,
    });
    return done(answer);
  }

  /** Open a conversation, or continue the open one of that name, which names it from then on. */
  async openSession(more: Body<"/api/v1/sessions"> = {}, { signal }: Call = {}) {
    return done(await this.api.POST("/api/v1/sessions", { body: more, signal }));
  }

  /** Store messages of a conversation; one with an `id` is stored once. */
  async addMessages(session: string, messages: Record<string, unknown>[], { signal }: Call = {}) {
    const params = { path: { session } };
    return done(await this.api.POST("/api/v1/sessions/{session}/messages", { params, body: { messages }, signal }));
  }

  /** End a conversation: it is summarized, and what it told is remembered. */
  async endSession(session: string, { signal }: Call = {}) {
    const params = { path: { session } };
    return done(await this.api.POST("/api/v1/sessions/{session}/end", { params, body: {}, signal }));
  }

  /** Store a whole conversation at once and remember what it told; each message counts once, however often it is sent. */
  async processSessionEnd(
    messages: Record<string, unknown>[],
    more: Omit<Body<"/api/v1/conversations">, "messages"> = {},
    { signal }: Call = {},
  ) {
    return done(await this.api.POST("/api/v1/conversations", { body: { messages, ...more }, signal }));
  }

  /** Return where the book is and how it does. */
  async status({ signal }: Call = {}) {
    return done(await this.api.GET("/api/v1/status", { signal }));
  }
}

type Fields = NonNullable<
  paths["/api/v1/entries/{id}"]["patch"]["requestBody"]
>["content"]["application/json"];

type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Asked } } }
  ? NonNullable<Asked>
  : never;

type Body<Path extends keyof paths> = paths[Path] extends {
  post: { requestBody?: { content: { "application/json": infer Sent } } };
}
  ? Sent
  : never;

function done<Data>(answer: { data?: Data }): Data {
  return answer.data as Data; // refusals were thrown
}

function limit(signal: AbortSignal, wait: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(wait)]);
}

async function sent(request: Request, send: (request: Request) => Promise<Response>, base: string): Promise<Response> {
  const reads = request.method === "GET";
  for (let turn = 0; ; turn++) {
    let pause = WAITS[turn];
    let failed: MemoryBookError;
    let again: boolean;
    try {
      const response = await send(request.clone());
      if (response.ok || response.status === 304) return response;
      failed = await refusal(response, base);
      again = NOT_BEGUN.has(failed.code);
      const asked = Number(response.headers.get("Retry-After"));
      if (pause !== undefined && asked > 0) pause = Math.max(pause, Math.min(asked * 1000, LONGEST_WAIT));
    } catch (error) {
      if (request.signal.aborted) throw error; // by the caller
      const late = error instanceof DOMException && error.name === "TimeoutError";
      const code = (error as { cause?: { code?: string } }).cause?.code;
      again = !late && (reads || code === "ECONNREFUSED");
      const why = late ? "did not answer in time" : "could not be reached, or the connection broke";
      const open = reads || code === "ECONNREFUSED" ? "" : "; what was asked of it may be done all the same";
      failed = new MemoryBookError(0, "unavailable", `the server at ${base} ${why}${open}`, { cause: error });
    }
    if (pause === undefined || !again) throw failed;
    await new Promise((resolve) => {
      setTimeout(resolve, pause);
      request.signal.addEventListener("abort", resolve, { once: true });
    });
  }
}

async function refusal(response: Response, base: string): Promise<MemoryBookError> {
  try {
    const { error, current } = (await response.json()) as Schema<"Failed"> & { current?: Record<string, unknown> };
    const { code, message, request_id } = error;
    return new MemoryBookError(response.status, String(code), String(message), {}, request_id, current);
  } catch {
    const told = `${base} answered ${response.status} as no memorybook does: is the address right?`;
    return new MemoryBookError(response.status, "unavailable", told);
  }
}
