import { join } from 'node:path';
import { valueOr } from '../../../../flow.ts';
import type { Files } from '../../../files.ts';
import type {
  NewRequest,
  RequestBodies,
  RequestFilter,
  RequestLimits,
  RequestPart,
  RequestRecord,
  RequestSelection,
  RequestStorage,
} from '../../../requests/record.ts';
import { NUMBERS_PER_MS, Segments } from './segments.ts';

/** A line of the files with bodies. */
interface BodiesLine extends RequestBodies, Pick<RequestRecord, 'number' | 'id' | 'ended_ms'> {
  readonly account: string | undefined;
  readonly key: string | undefined;
}

/** Bytes after which old requests are deleted by the size of the log, between two trims by age. */
const MAX_ADDED_BYTES = 32 * 2 ** 20;

/** The requests of one daemon as files: lines of JSON, and those with bodies apart. */
export class RequestFolder implements RequestStorage {
  readonly isShared = false;
  readonly #records: Segments;
  readonly #bodies: Segments;
  #newest: number | null = null;
  /** Of the last trim. */
  #limits: RequestLimits | null = null;
  #addedBytes = 0;

  constructor(files: Files, folder: string) {
    this.#records = new Segments(files, folder);
    this.#bodies = new Segments(files, join(folder, 'bodies'));
  }

  async add(requests: readonly NewRequest[]): Promise<readonly RequestRecord[]> {
    const former = this.#newest ?? (await this.#records.newest());
    let newest = former;
    const bodies: BodiesLine[] = [];
    const records = requests.map(({ record, bodies: kept }) => {
      if (record.number > 0) return record;
      const { id, ended_ms, account, key } = record;
      // The clock may have been set back.
      newest = Math.max(newest + 1, ended_ms * NUMBERS_PER_MS);
      number(record, newest);
      if (kept) {
        bodies.push({ number: newest, id, ended_ms, account: account?.id, key: key?.id, ...kept });
      }
      return record;
    });
    this.#newest = newest;
    // First the bodies: a record must not name bodies that are not kept.
    if (bodies.length > 0) {
      await this.#append(this.#bodies, bodies).catch((error: unknown) => {
        for (const record of records) if (record.number > former) number(record, 0);
        throw error;
      });
    }
    await this.#append(this.#records, records);
    if (this.#limits !== null && this.#addedBytes > MAX_ADDED_BYTES) await this.trim(this.#limits);
    return records;
  }

  async *read(filter: RequestFilter, before: number): AsyncGenerator<RequestPart, void> {
    const { from = 0, to = Infinity } = filter;
    const needles = needlesOf(filter);
    const end = Math.min(before, to * NUMBERS_PER_MS);
    for await (const { texts, lowest } of this.#records.read(end, needles)) {
      const records: RequestRecord[] = [];
      for (const text of texts) {
        if (!needles.every((needle) => text.includes(needle))) continue;
        const record = parsed<RequestRecord>(text);
        if (record !== null && record.number < before) records.push(record);
      }
      yield { records, lowest };
      if (lowest < from * NUMBERS_PER_MS) return;
    }
  }

  async bodiesOf(number: number): Promise<RequestBodies | undefined> {
    const line = await this.#bodies.find(number);
    const found = line === undefined ? null : parsed<BodiesLine>(line);
    return found === null ? undefined : { request: found.request, answer: found.answer };
  }

  async remove(selection: RequestSelection, onlyBodies: boolean): Promise<number> {
    const bodies = await this.#bodies.remove((text) => {
      const line = parsed<BodiesLine>(text);
      return line === null || isSelected(line, line.account, line.key, selection);
    });
    if (onlyBodies) return bodies;
    return this.#records.remove((text) => {
      const line = parsed<RequestRecord>(text);
      return line === null || isSelected(line, line.account?.id, line.key?.id, selection);
    });
  }

  async trim({ before, bodiesBefore, maxBytes }: RequestLimits): Promise<void> {
    this.#limits = { before, bodiesBefore, maxBytes };
    this.#addedBytes = 0;
    // Bodies are larger, and less is lost with them.
    const rest = Math.max(0, maxBytes - (await this.#records.bytes()));
    await this.#bodies.trim(bodiesBefore * NUMBERS_PER_MS, rest);
    await this.#records.trim(before * NUMBERS_PER_MS, maxBytes);
  }

  async #append(segments: Segments, all: readonly { readonly number: number }[]): Promise<void> {
    const lines = all.map((one) => ({ number: one.number, text: JSON.stringify(one) }));
    await segments.append(lines);
    this.#addedBytes += lines.reduce((sum, { text }) => sum + text.length, 0);
  }

  async close(): Promise<void> {
    await this.#records.close();
    await this.#bodies.close();
  }
}

function number(record: RequestRecord, value: number): void {
  (record as { number: number }).number = value;
}

/** Null for a line that a crash has damaged. */
function parsed<Value>(text: string): Value | null {
  return valueOr(() => JSON.parse(text) as Value, null);
}

/** Texts of the lines of all records that meet a filter. */
function needlesOf({ accountId, keyId, model, provider, id }: RequestFilter): string[] {
  const member = (name: string, value: string | undefined) =>
    value === undefined ? [] : [`"${name}":${JSON.stringify(value)}`];
  return [
    ...(accountId === undefined ? [] : [`"account":{"id":${JSON.stringify(accountId)}`]),
    ...(keyId === undefined ? [] : [`"key":{"id":${JSON.stringify(keyId)}`]),
    ...member('model', model),
    ...member('provider', provider),
    ...member('id', id),
  ];
}

function isSelected(
  line: Pick<RequestRecord, 'id' | 'ended_ms'>,
  account: string | undefined,
  key: string | undefined,
  { accountId, keyId, id, before }: RequestSelection,
): boolean {
  return (
    (accountId === undefined || account === accountId) &&
    (keyId === undefined || key === keyId) &&
    (id === undefined || line.id === id) &&
    (before === undefined || line.ended_ms < before)
  );
}
