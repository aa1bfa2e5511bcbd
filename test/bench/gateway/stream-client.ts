import { Pool } from 'undici';
import type { Server } from '../daemon/server.ts';
import type { Contender } from './field.ts';
import { now, type Pace, PIECES, pieceOf } from './marks.ts';

/** What was seen of one stream. */
export interface Seen {
  /** Milliseconds from the request to the first piece of text. */
  readonly first: number;
  /** Milliseconds from when each piece was sent to when it came; only of use where they are paced. */
  readonly delays: readonly number[];
}

/** Longer than what a stream ends with. */
const TAIL = 400;

/** Reads streams of one contender, and counts their pieces without parsing what they come in. */
export class StreamClient {
  readonly #pool: Pool;
  readonly #contender: Contender;

  constructor({ url }: Server, contender: Contender) {
    this.#pool = new Pool(url, { connections: null });
    this.#contender = contender;
  }

  /** @throws where it is not the whole stream that comes */
  stream(pace: Pace): Promise<Seen> {
    const { format, headers } = this.#contender;
    const reading = new Reading(format.ending);
    return new Promise((resolve, reject) => {
      let status = 0;
      this.#pool.dispatch(
        {
          method: 'POST',
          path: format.path,
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(format.request(pace, true)),
        },
        {
          onRequestStart() {},
          onResponseStart(_controller, statusCode) {
            status = statusCode;
          },
          onResponseData(_controller, bytes) {
            reading.take(bytes);
          },
          onResponseEnd() {
            if (status === 200 && reading.isWhole()) resolve(reading);
            else reject(new Error(`a stream with ${status} ended as ${reading.told()}`));
          },
          onResponseError(_controller, error) {
            reject(error);
          },
        },
      );
    });
  }

  /** Reads one stream as a client would, and holds its text to what was sent. @throws where it differs */
  async check(): Promise<void> {
    const { format, headers } = this.#contender;
    const { statusCode, body } = await this.#pool.request({
      method: 'POST',
      path: format.path,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(format.request('flat', true)),
    });
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

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** One stream as it comes. */
class Reading implements Seen {
  first = 0;
  readonly delays: number[] = [];
  readonly #ending: string;
  readonly #began = now();
  /** What may be the beginning of a mark, or of the ending. */
  #rest = '';

  constructor(ending: string) {
    this.#ending = ending;
  }

  take(bytes: Buffer): void {
    const text = this.#rest + bytes.toString('latin1');
    const time = now();
    let read = 0;
    // Some formats repeat the whole text at the end; only what comes for the first time counts.
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

  told(): string {
    return `${this.delays.length} pieces and ${this.#rest}`;
  }
}
