/** One page of a list. */
export interface ListPage<T = unknown> {
  data: T[];
  hasMore: boolean;
}

/** Reads a page: the one after the cursor, with a limit unless the caller of the method has set one. */
export type ReadPage<P> = (cursor?: Record<string, unknown>, limit?: number) => Promise<P>;

/**
 * A list. `await` it for one page; iterate it with `for await` for the items of all pages.
 * Nothing is sent before that.
 */
export class List<P extends ListPage, T = P["data"][number]> implements Promise<P>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = "List";
  #read: ReadPage<P>;
  #cursor: string;
  #page?: Promise<P>;

  /** `cursor` is the name of the parameter. */
  constructor(read: ReadPage<P>, cursor: string) {
    this.#read = read;
    this.#cursor = cursor;
  }

  then<A = P, B = never>(
    resolved?: ((page: P) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#page ??= this.#read()).then(resolved, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<P | B> {
    return this.then(null, rejected);
  }

  finally(settled?: (() => void) | null): Promise<P> {
    return this.then().finally(settled);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let cursor: Record<string, unknown> | undefined = {}; cursor; ) {
      const page: P = await this.#read(cursor, 100);
      yield* page.data as T[];
      const last = page.data.at(-1) as { id?: string; pathname?: string } | undefined;
      cursor = page.hasMore && last ? { [this.#cursor]: last.id ?? last.pathname } : undefined;
    }
  }
}
