import { Pool } from 'undici';
import type { Server } from '../daemon/server.ts';
import type { Contender } from './field.ts';
import { now, type Pace, PIECES, pieceOf } from './marks.ts';

/** Measurements of one stream. */
export interface Seen {
  /** Milliseconds from the request to the first piece of text. */
  readonly first: number;
  /** Milliseconds from sending each piece to its arrival; meaningful for paced streams only. */
  readonly delays: readonly number[];
}

/** Characters of the tail in which the end mark of a stream is searched. */
const TAIL = 400;

/** Reads streams of one contender, and counts their pieces without parsing events. */
export class StreamClient {
  readonly #pool: Pool;
  readonly #contender: Contender;

  constructor({ url }: Server, contender: Contender) {
    this.#pool = new Pool(url, { connections: null });
    this.#contender = contender;
  }

  /** Runs work with a client, and closes its connections. */
  static async during<Value>(
    server: Server,
    contender: Contender,
    work: (client: StreamClient) => Promise<Value>,
  ): Promise<Value> {
    const client = new StreamClient(server, contender);
    return work(client).finally(() => client.#pool.destroy());
  }

  /** @throws if the stream is incomplete */
  stream(pace: Pace): Promise<Seen> {
    const reading = new Reading(this.#contender.format.ending);
    return new Promise((resolve, reject) => {
      let status = 0;
      this.#pool.dispatch(this.#request(pace), {
        onRequestStart() {},
        onResponseStart(_controller, statusCode) {
          status = statusCode;
        },
        onResponseData(_controller, bytes) {
          reading.take(bytes);
        },
        onResponseEnd() {
          if (status === 200 && reading.isWhole()) resolve(reading);
          else reject(new Error(`a stream with ${status} ended as ${reading.summary()}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      });
    });
  }

  #request(pace: Pace) {
    const { format, headers } = this.#contender;
    return {
      method: 'POST',
      path: format.path,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(format.request(pace, true)),
    } as const;
  }

  /** Reads one stream as a client would, and compares its text with the sent one. @throws if it differs */
  async check(): Promise<void> {
    const { format } = this.#contender;
    const { statusCode, body } = await this.#pool.request(this.#request('flat'));
    const said = await body.text();
    const text = said
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => format.deltaOf(JSON.parse(line.slice(6))))
      .filter((delta) => typeof delta === 'string')
      .join('');
    const sent = Array.from({ length: PIECES }, (_, index) => pieceOf(index, 0)).join('');
    if (statusCode !== 200 || text !== sent || !said.slice(-TAIL).includes(format.ending)) {
      throw new Error(`answered ${statusCode}: ${said.slice(0, 200)} … ${said.slice(-200)}`);
    }
  }
}

/** State of one stream while it is read. */
class Reading implements Seen {
  first = 0;
  readonly delays: number[] = [];
  readonly #ending: string;
  readonly #began = now();
  /** Text that may be the beginning of a mark, or of the end. */
  #rest = '';

  constructor(ending: string) {
    this.#ending = ending;
  }

  take(bytes: Buffer): void {
    const text = this.#rest + bytes.toString('latin1');
    const time = now();
    let read = 0;
    // Some formats repeat the whole text at the end; repeated pieces do not count.
    while (this.delays.length < PIECES) {
      const start = text.indexOf(`~${this.delays.length}.`, read);
      const point = text.indexOf('.', start);
      const end = text.indexOf('~', point);
      if (start === -1 || end === -1) break;
      if (this.delays.length === 0) this.first = (time - this.#began) / 1000;
      this.delays.push((time - Number(text.slice(point + 1, end))) / 1000);
      read = end + 1;
    }
    this.#rest = text.slice(Math.max(read, text.length - TAIL));
  }

  isWhole(): boolean {
    return this.delays.length === PIECES && this.#rest.includes(this.#ending);
  }

  summary(): string {
    return `${this.delays.length} pieces and ${this.#rest}`;
  }
}
