import pg from 'pg';
import { newId } from '../../identifier.ts';
import type { StoreEvent } from '../../store-event.ts';
import type { Database } from './database/database.ts';

/** Events between the drivers of nodes, beside those of the store. */
export type DriverEvent =
  | StoreEvent
  /** A key, a team or an account has changed. */
  | { readonly kind: 'keys'; readonly accounts: readonly string[] }
  /** The sender needs credits of the account: return what no request uses. */
  | { readonly kind: 'recall'; readonly accountId: string }
  /** A node has returned what it could. */
  | { readonly kind: 'recalled'; readonly accountId: string; readonly node: string };

/** Bytes of a notification; PostgreSQL takes fewer than 8000. */
const MAX_BYTES = 7000;

const RECONNECT_MS = 1000;

/** Interval of queries on the connection that listens, and their longest time: a network that drops packets ends none. */
const CHECK_INTERVAL_MS = 10_000;
const CHECK_MS = 5000;

interface EventsOptions {
  readonly database: Database;
  /** A connection that is not pooled in transactions; notifications reach no other. */
  readonly listenUrl: string;
  readonly onEvent: (event: DriverEvent) => void;
  /** Called when events may have been lost. */
  readonly onGap: () => void;
}

/**
 * Hints between nodes by NOTIFY, on a connection of its own. They are sent after the commit: inside of a
 * transaction they would make commits of all nodes wait for one another.
 */
export class Events {
  readonly #options: EventsOptions;
  readonly #channel: string;
  /** Marks events of this process. */
  readonly #sender = newId('sender');
  #pending: string[] = [];
  #sending: Promise<void> | null = null;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: EventsOptions) {
    this.#options = options;
    this.#channel = `oriel_${options.database.options.schema}`;
  }

  async open(): Promise<void> {
    await this.#listen();
  }

  send(event: DriverEvent): void {
    if (this.#isClosed) return;
    this.#pending.push(JSON.stringify(event));
    this.#sending ??= this.#send();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#sending;
    await this.#client?.end().catch(() => {});
  }

  async #send(): Promise<void> {
    // All events of this turn of the event loop are one notification.
    await null;
    while (this.#pending.length > 0) {
      const payloads = this.#takePayloads();
      try {
        await this.#options.database.once((connection) =>
          connection.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
            this.#channel,
            payloads,
          ]),
        );
      } catch {
        // Hints may be lost: the other nodes poll.
      }
    }
    this.#sending = null;
  }

  #takePayloads(): string[] {
    const payloads: string[] = [];
    let part: string[] = [];
    let bytes = 0;
    const flush = () => {
      if (part.length > 0) payloads.push(`{"from":"${this.#sender}","events":[${part.join()}]}`);
      part = [];
      bytes = 0;
    };
    for (const event of this.#pending.splice(0)) {
      const size = Buffer.byteLength(event);
      if (size > MAX_BYTES) continue;
      if (bytes + size > MAX_BYTES) flush();
      part.push(event);
      bytes += size + 1;
    }
    flush();
    return payloads;
  }

  async #listen(): Promise<void> {
    if (this.#isClosed) return;
    const client = new pg.Client({
      connectionString: this.#options.listenUrl,
      application_name: 'oriel listener',
      connectionTimeoutMillis: 3000,
      query_timeout: CHECK_MS,
      keepAlive: true,
    });
    let isOver = false;
    const check = setInterval(() => {
      if (this.#client === client) client.query('SELECT 1').catch(again);
    }, CHECK_INTERVAL_MS).unref();
    const again = () => {
      if (isOver) return;
      isOver = true;
      clearInterval(check);
      if (this.#client === client) this.#client = null;
      client.end().catch(() => {});
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => void this.#listen(), RECONNECT_MS).unref();
    };
    client.on('error', again);
    client.on('end', again);
    client.on('notification', ({ payload }) => this.#receive(payload));
    try {
      await client.connect();
      await client.query(`LISTEN "${this.#channel}"`);
      this.#client = client;
      this.#options.onGap();
      if (this.#isClosed) await client.end();
    } catch {
      again();
    }
  }

  #receive(payload: string | undefined): void {
    try {
      const { from, events } = JSON.parse(payload ?? '') as {
        from: string;
        events: readonly DriverEvent[];
      };
      if (from === this.#sender) return;
      for (const event of events) this.#options.onEvent(event);
    } catch {
      // Another program notified on the channel.
    }
  }
}
