import type { Config } from '../config/settings/schema.ts';
import { codedFailure, Failure } from '../failure.ts';
import { sliced } from '../flow.ts';
import { quoteValue } from '../schema/fields.ts';
import { invalid } from '../schema/invalid.ts';
import { parseJson } from '../schema/json.ts';
import { isObject, nonEmptyTextOf } from '../schema/untrusted.ts';
import type { KeyHolder } from '../store/store.ts';
import { dialectAt } from '../text/dialects/registry.ts';
import { decodeEmbeddings } from '../text/embeddings/request.ts';
import { findModelOfType } from '../text/execution/model-routes.ts';
import type { BatchRange, InputFault, LinePlace } from './batch.ts';

export const EMBEDDINGS = '/v1/embeddings';
export const MESSAGES = '/v1/messages';

/** Endpoints whose requests a batch of OpenAI's interface may have. */
export const ENDPOINTS = [
  ...(['/v1/chat/completions', '/v1/responses', '/v1/completions', EMBEDDINGS] as const),
];

/** Requests of one batch, as the public interfaces accept. */
const maxRequests = (endpoint: string) => (endpoint === MESSAGES ? 100_000 : 50_000);

/** Lines of a range: few enough for several nodes to share a small batch. */
const RANGE_LINES = 100;

/** Maximum number of lines of a file, including blank ones: a million takes seconds to read. */
const MAX_LINES = 250_000;

/** Characters of an identifier. */
const MAX_ID = 256;

/** How long lines are checked before other work gets its turn, in milliseconds. */
const MAX_HOLD_MS = 5;

/** One line of a file, without its line break. */
export interface Line {
  readonly number: number;
  /** Offset of the next line. */
  readonly end: number;
  readonly bytes: Buffer;
}

/**
 * The lines of a file that are not blank, one at a time in memory.
 *
 * @throws Failure invalid_request for a longer line, and for too many lines
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  { offset: end, number }: LinePlace = { offset: 0, number: 1 },
): AsyncGenerator<Line, void> {
  let waiting: Buffer[] = [];
  let size = 0;
  const add = (part: Buffer) => {
    waiting.push(part);
    size += part.length;
    if (size <= maxBytes) return;
    const message = `line ${number}: expected at most ${maxBytes} bytes`;
    throw codedFailure('request_too_large', message);
  };
  const take = (): Line[] => {
    const bytes = waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting);
    end += size + 1;
    [waiting, size] = [[], 0];
    number += 1;
    if (number > MAX_LINES) {
      throw invalid(null, `line ${number}: expected at most ${MAX_LINES} lines`);
    }
    const isBlank = bytes.length < 64 && bytes.toString('latin1').trim() === '';
    return isBlank ? [] : [{ number: number - 1, end, bytes }];
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, at));
      start = at + 1;
      yield* take();
    }
    add(chunk.subarray(start));
  }
  yield* take();
}

/** Reads the request in a line. @throws Failure invalid_request with the field */
export function parseLine(bytes: Buffer, endpoint: string) {
  let value: unknown;
  try {
    value = parseJson(bytes.toString());
  } catch (error) {
    const message = `not valid JSON: ${(error as Error).message}`;
    throw codedFailure('invalid_json', message);
  }
  if (!isObject(value)) throw invalid(null, 'expected a JSON object');
  const { custom_id: id, method, url, body } = value;
  const customId = nonEmptyTextOf(id);
  const isBody = isObject(body);
  const wrong = [
    ['custom_id', `a text of 1 to ${MAX_ID} characters`, id, customId && customId.length <= MAX_ID],
    ['method', 'POST', method, method === 'POST'],
    ['url', endpoint, url, url === endpoint],
    ['body', 'an object', body, isBody],
    ['body.stream', 'false', true, !isBody || body['stream'] !== true],
  ].find(([, , , isRight]) => !isRight);
  if (wrong)
    throw invalid(String(wrong[0]), `expected ${wrong[1]}, received ${quoteValue(wrong[2])}`);
  return { customId: customId!, body };
}

/** What the requests of a batch are checked against. */
interface InputRules {
  readonly endpoint: string;
  readonly config: Config;
  readonly holder: KeyHolder;
}

/** Decodes a request, and finds its model. @throws Failure with the field */
function checkRequest(body: unknown, { endpoint, config, holder }: InputRules): string {
  try {
    if (endpoint === EMBEDDINGS) {
      return findModelOfType('embedding', decodeEmbeddings(body).model, config, holder).id;
    }
    const { model } = dialectAt(endpoint)!.decodeRequest(body);
    return findModelOfType('text', model, config, holder).id;
  } catch (error) {
    if (!(error instanceof Failure) || error.param === null) throw error;
    throw invalid(`body.${error.param}`, error.message.replace(`${error.param}: `, ''));
  }
}

/** Checks every line of an input before any of them runs. */
export async function checkInput(chunks: AsyncIterable<Buffer>, rules: InputRules) {
  const { endpoint, config } = rules;
  const known = new Map<string, number>();
  const ranges: BatchRange[] = [];
  const models = new Set<string>();
  const giveWay = sliced(MAX_HOLD_MS);
  let at: LinePlace = { offset: 0, number: 1 };
  let total = 0;
  let line: number | null = null;
  const answer = (found: InputFault | null) => ({ ranges, total, models, fault: found });
  try {
    for await (const { number, end, bytes } of linesOf(chunks, config.server.bodyLimit)) {
      line = total === maxRequests(endpoint) ? null : number;
      if (line === null) throw invalid(null, `expected at most ${total} requests`);
      const { customId, body } = parseLine(bytes, endpoint);
      if (known.has(customId)) {
        const received = `received ${quoteValue(customId)}, which line ${known.get(customId)} has`;
        throw invalid('custom_id', `expected another for each request, ${received}`);
      }
      known.set(customId, number);
      models.add(checkRequest(body, rules));
      if (total % RANGE_LINES === 0) ranges.push({ id: ranges.length, at, lines: 0 });
      const last = ranges.at(-1)!;
      ranges[last.id] = { ...last, lines: last.lines + 1 };
      total += 1;
      at = { offset: end, number: number + 1 };
      await giveWay();
    }
    line = null;
    if (total === 0) throw invalid(null, 'expected at least one request, received none');
    return answer(null);
  } catch (error) {
    // If the storage fails, the input is not to blame.
    if (!(error instanceof Failure) || error.status >= 500) throw error;
    const { code, param, message } = error;
    const isNamed = line === null || message.startsWith('line ');
    const text = isNamed ? message : `line ${line}: ${message}`;
    return answer({ code: code ?? 'invalid_request', line, message: text, param });
  }
}
