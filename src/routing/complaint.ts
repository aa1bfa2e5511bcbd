import { parseJson } from '../schema/json.ts';
import { textOfPage } from './page.ts';

/** What an upstream said of its error, in its own words. */
export interface Complaint {
  /** Without control characters; empty where nothing was said. */
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** An HTTP status that the body names; streams have no other. */
  readonly status: number | null;
}

/** Characters of a message that are looked at. */
const LOOKED_AT = 4000;

const NOTHING: Complaint = { message: '', type: null, code: null, param: null, status: null };

/** Bodies nest an error in an error at most a few times. */
const DEPTH = 4;

/**
 * Reads the error bodies of OpenAI, Anthropic, Oriel, Google and FastAPI, their like, and text or a
 * page of a proxy. Whatever it is given, it gives something.
 *
 * @param body parsed JSON, or text
 */
export function readComplaint(body: unknown, depth = DEPTH): Complaint {
  if (typeof body === 'string') return ofText(body, depth);
  if (typeof body !== 'object' || body === null || depth === 0) return NOTHING;
  if (Array.isArray(body)) return readComplaint(body[0], depth - 1);

  const fields = body as Readonly<Record<string, unknown>>;
  const { error, detail, response, errors } = fields;
  // What says "error" of itself means what is within.
  if (typeof error === 'object' && error !== null) return readComplaint(error, depth - 1);
  if (isFilled(detail)) return ofDetail(detail, depth);
  const words = [fields['message'], fields['msg'], fields['error_description'], error];
  const message = words.find(isFilled) ?? errors ?? response;
  const within = typeof message === 'string' ? null : readComplaint(message, depth - 1);
  return {
    message: within?.message ?? tidy(message as string),
    type: codeOf(fields['type']) ?? codeOf(fields['status']) ?? within?.type ?? null,
    code: codeOf(fields['code']) ?? within?.code ?? null,
    param: paramOf(fields['param']) ?? within?.param ?? null,
    status: statusOf(fields['code']) ?? statusOf(fields['status']) ?? within?.status ?? null,
  };
}

function isFilled(value: unknown): boolean {
  return (
    (typeof value === 'string' && value !== '') || (typeof value === 'object' && value !== null)
  );
}

function ofText(text: string, depth: number): Complaint {
  const start = text.slice(0, 1000).trimStart();
  if (/^[{[]/.test(start) && text.length < 1_000_000) {
    try {
      return readComplaint(parseJson(text), depth - 1);
    } catch {
      // It only looks like JSON.
    }
  }
  const page = textOfPage(text);
  return { ...NOTHING, message: tidy(page ?? text) };
}

/** FastAPI tells what is wrong in a sentence, or one by one with the way to the field. */
function ofDetail(detail: unknown, depth: number): Complaint {
  if (!Array.isArray(detail)) return readComplaint(detail, depth - 1);
  const faults = detail.slice(0, 10).map((fault) => readComplaint(fault, 1));
  const messages = faults.map(({ message }) => message).filter((message) => message !== '');
  const place = (detail[0] as { loc?: unknown } | null | undefined)?.loc;
  return { ...NOTHING, message: tidy(messages.join('; ')), param: pathOf(place) };
}

/** `['body', 'messages', 0, 'content']` is `messages[0].content`. */
function pathOf(place: unknown): string | null {
  if (!Array.isArray(place)) return null;
  const steps = place.slice(place[0] === 'body' ? 1 : 0, 20);
  const path = steps
    .map((step) =>
      typeof step === 'number' ? `[${step}]` : typeof step === 'string' ? `.${step}` : '',
    )
    .join('');
  return paramOf(path.replace(/^\./, ''));
}

function codeOf(value: unknown): string | null {
  return typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : null;
}

function paramOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? tidy(value).slice(0, 200) : null;
}

function statusOf(value: unknown): number | null {
  return Number.isInteger(value) && (value as number) >= 300 && (value as number) < 600
    ? (value as number)
    : null;
}

/** One line without control characters, those of direction included, of bounded length. */
function tidy(text: string): string {
  return text
    .slice(0, LOOKED_AT)
    .replace(/[\s\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]+/gu, ' ')
    .trim();
}
