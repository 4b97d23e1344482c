// The two engines behind one interface: a worker with the core as WebAssembly, and the server of `wifair lab`.

export type Request = { ask: string; [key: string]: unknown };

export interface Engine {
  /** The bytes of the reply, the same with both engines. */
  raw(request: Request): Promise<ArrayBuffer>;
  /** Aborts pending requests; the engine remains usable. */
  stop(): void;
}

/** A table of columns. */
export class Table {
  constructor(
    readonly rows: number,
    private readonly columns: Map<string, Float64Array | { codes: Uint32Array; texts: string[] }>,
  ) {}

  has(name: string): boolean {
    return this.columns.has(name);
  }

  /** A column of numbers; empty if there is no column of this name. */
  numbers(name: string): Float64Array {
    const column = this.columns.get(name);
    return column instanceof Float64Array ? column : new Float64Array(0);
  }

  /** A column of texts, as indices into a list of distinct texts. */
  words(name: string): { codes: Uint32Array; texts: string[] } {
    const column = this.columns.get(name);
    return column && !(column instanceof Float64Array) ? column : { codes: new Uint32Array(0), texts: [] };
  }

  text(name: string, row: number): string {
    const { codes, texts } = this.words(name);
    return texts[codes[row] ?? -1] ?? "";
  }

  texts(name: string): string[] {
    return Array.from({ length: this.rows }, (_, row) => this.text(name, row));
  }

  get names(): string[] {
    return [...this.columns.keys()];
  }
}

export interface Reply {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  head: any;
  tables: Record<string, Table>;
}

export const EMPTY = new Table(0, new Map());

/** Decodes a reply; the crate `wifair-lab` documents its layout. */
export function decode(bytes: ArrayBuffer): Reply {
  const size = new DataView(bytes).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size)));
  const body = 8 + size;
  const tables: Record<string, Table> = {};
  for (const [name, table] of Object.entries<{
    rows: number;
    columns: { name: string; at: number; texts?: string[] }[];
  }>(head.tables ?? {})) {
    const columns = new Map<string, Float64Array | { codes: Uint32Array; texts: string[] }>();
    for (const column of table.columns) {
      columns.set(
        column.name,
        column.texts
          ? { codes: new Uint32Array(bytes, body + column.at, table.rows), texts: column.texts }
          : new Float64Array(bytes, body + column.at, table.rows),
      );
    }
    tables[name] = new Table(table.rows, columns);
  }
  return { head, tables };
}

/** An error of the engine or the connection to it, not of the scenario. */
export class EngineError extends Error {}

export async function ask(engine: Engine, request: Request): Promise<Reply> {
  const reply = decode(await engine.raw(request));
  if (typeof reply.head.error === "string") throw new EngineError(reply.head.error);
  return reply;
}

class HttpEngine implements Engine {
  private abort = new AbortController();

  constructor(private readonly name: string) {}

  async raw(request: Request): Promise<ArrayBuffer> {
    let response: Response;
    try {
      response = await fetch(`ask/${this.name}`, {
        method: "POST",
        body: JSON.stringify(request),
        headers: { "Content-Type": "application/json" },
        signal: this.abort.signal,
      });
    } catch (error) {
      if ((error as Error).name === "AbortError") throw error;
      throw new EngineError("the server does not answer; check that `wifair lab` is still running");
    }
    if (!response.ok) throw new EngineError(`the server refused the request: ${(await response.text()).trim()}`);
    return response.arrayBuffer();
  }

  stop(): void {
    this.abort.abort();
    this.abort = new AbortController();
  }
}

let compiled: Promise<WebAssembly.Module> | undefined;

async function compile(): Promise<WebAssembly.Module> {
  const response = await fetch("engine.wasm");
  if (!response.ok) throw new EngineError(`engine.wasm cannot be loaded (${response.status})`);
  return WebAssembly.compile(await response.arrayBuffer()); // works with any content type
}

class WorkerEngine implements Engine {
  private worker: Worker | undefined;
  private waiting = new Map<number, { done: (bytes: ArrayBuffer) => void; failed: (why: Error) => void }>();
  private count = 0;

  private async start(): Promise<Worker> {
    const module = await (compiled ??= compile());
    if (this.worker) return this.worker;
    const worker = new Worker("worker.js");
    worker.onmessage = ({ data }: MessageEvent<{ id: number; reply?: ArrayBuffer; error?: string }>) => {
      const one = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.reply) one?.done(data.reply);
      else {
        one?.failed(new EngineError(`the core failed: ${data.error}; this is a bug in wifair`));
        this.end(new DOMException("stopped", "AbortError"));
      }
    };
    worker.onerror = (event) => this.end(new EngineError(`the worker failed: ${event.message}`));
    worker.postMessage({ module });
    return (this.worker = worker);
  }

  async raw(request: Request): Promise<ArrayBuffer> {
    const worker = await this.start();
    const id = ++this.count;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      worker.postMessage({ id, request: JSON.stringify(request) });
    });
  }

  private end(why: Error): void {
    this.worker?.terminate();
    this.worker = undefined;
    for (const one of this.waiting.values()) one.failed(why);
    this.waiting.clear();
  }

  stop(): void {
    this.end(new DOMException("stopped", "AbortError"));
  }
}

/** Opens a separate engine for each name, so that one does not wait for another. */
export function open(kind: "http" | "wasm", name: string): Engine {
  return kind === "wasm" ? new WorkerEngine() : new HttpEngine(`${name}${INSTANCE}`);
}

// Tells apart the tabs that use one server, so that each has its own runs.
const INSTANCE = Math.random().toString(36).slice(2, 12);
