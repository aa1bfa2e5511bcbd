import { createContext, Script } from 'node:vm';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config/settings/schema.ts';
import { SECRET_FORMS } from '../../exchanges/secret-forms.ts';
import { getOrInsert } from '../../maps.ts';
import type { KeptBodies } from '../../store/account.ts';
import type { RequestBodies } from '../../store/requests/record.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Dialect } from '../../text/dialects/dialect.ts';
import { StreamedAnswer } from '../../text/relay/streamed-answer.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The answer for the log of requests; null where it is not kept. */
    answerCopy: AnswerCopy | null;
  }
}

type BodySettings = Pick<Config, 'requests' | 'models'>;

/** Bytes of a stream for a character of its answer, at most. */
const BYTES_PER_CHARACTER = 50;

/** Takes what a client is sent. */
export class AnswerCopy {
  #whole: string | null = null;
  #stream: StreamedAnswer | null = null;
  readonly #dialect: Dialect;
  readonly #limit: number;

  constructor(dialect: Dialect, limit: number) {
    this.#dialect = dialect;
    this.#limit = limit;
  }

  /** Takes an answer that is not streamed. */
  whole(answer: string): void {
    this.#whole = answer;
  }

  /** Takes frames of a stream. */
  readonly push = (frames: string | Buffer): void => {
    this.#stream ??= new StreamedAnswer(this.#dialect, BYTES_PER_CHARACTER * this.#limit);
    this.#stream.push(frames);
  };

  get text(): string | null {
    return this.#whole ?? this.#stream?.json() ?? null;
  }
}

/** Whether any model keeps bodies, by configuration. */
const KEEPING = new WeakMap<Config['models'], boolean>();

function mayKeep({ requests, models }: BodySettings, { key, account }: KeyHolder): boolean {
  const own = key.bodies ?? account.bodies;
  if (own !== undefined) return own !== 'off';
  if (requests.bodies !== 'off') return true;
  return getOrInsert(KEEPING, models, () =>
    Object.values(models).some(({ requestBodies = 'off' }) => requestBodies !== 'off'),
  );
}

/** Begins to copy the answer to a request, if it may be kept. */
export function beginCopy(
  request: FastifyRequest,
  dialect: Dialect,
  config: BodySettings,
): AnswerCopy | null {
  if (!mayKeep(config, request.holder)) return null;
  request.answerCopy = new AnswerCopy(dialect, config.requests.maxBody);
  return request.answerCopy;
}

/** Of which requests for a model a key keeps the bodies. */
function keptOf(
  { requests, models }: BodySettings,
  { key, account }: KeyHolder,
  model: string | null,
): KeptBodies {
  const ofModel = model === null ? undefined : models[model]?.requestBodies;
  return key.bodies ?? account.bodies ?? ofModel ?? requests.bodies;
}

interface EndedExchange extends Pick<FastifyRequest, 'body'> {
  readonly answerCopy: Pick<AnswerCopy, 'text'> | null;
  readonly holder: KeyHolder;
  readonly model: string | null;
  readonly isFailed: boolean;
}

/** The bodies of a request that has ended, redacted and cut; null where they are not kept. */
export function bodiesOf(
  { body, answerCopy, holder, model, isFailed }: EndedExchange,
  config: BodySettings,
): RequestBodies | null {
  if (typeof body !== 'object' || body === null || !mayKeep(config, holder)) return null;
  const kept = keptOf(config, holder, model);
  if (kept === 'off' || (kept === 'errors' && !isFailed)) return null;
  const { maxBody } = config.requests;
  // A secret on the edge is removed as a whole.
  const before = (text: string) => text.replace(BASE64, '[base64]').slice(0, maxBody + MARGIN);
  const answer = answerCopy?.text ?? null;
  const texts = [before(JSON.stringify(body)), ...(answer === null ? [] : [before(answer)])];
  const redacted = redactorOf(config.requests)(texts);
  if (redacted === null) return null;
  const [request = '', response = null] = redacted.map((text) => cut(text, maxBody));
  return { request, answer: response };
}

/** Images and other files within JSON. */
const BASE64 = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{2000,}={0,2}/g;

/** Characters beyond the limit that are redacted. */
const MARGIN = 4096;

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}… [cut at ${limit} characters]`;
}

/** Keys, tokens and passwords, as sources of regular expressions with their flags. */
const SECRETS: readonly (readonly [source: string, flags: string, replacement?: string])[] = [
  [SECRET_FORMS, 'g'],
  [
    String.raw`(\\?"(?:password|passwd|secret|client_secret|api_?key|access_?token|authorization)\\?"\s*:\s*\\?")[^"\\]+`,
    'gi',
    '$1[redacted]',
  ],
];
const EMAIL = String.raw`[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}`;

/**
 * Milliseconds for all expressions over the bodies of a request, which take less than one. An expression may take
 * exponential time: after some failures in a row no bodies are kept for a while.
 */
const REDACTION_MS = 250;
const MAX_FAILURES = 3;
const PAUSE_MS = 60_000;

type Redactor = (texts: readonly string[]) => readonly string[] | null;

const REDACTORS = new WeakMap<Config['requests'], Redactor>();

/** Replaces texts by rules; made once for each loaded configuration. Returns null if that takes too long. */
function redactorOf(settings: Config['requests']): Redactor {
  const known = REDACTORS.get(settings);
  if (known) return known;
  const own = settings.redact.map((source) => [source, 'g'] as const);
  const rules = [...SECRETS, ...(settings.redactEmails ? [[EMAIL, 'g'] as const] : []), ...own];
  const context = createContext({ rules: JSON.stringify(rules), texts: '[]' });
  // A context of its own, since only there expressions can be interrupted.
  const prepare = 'const all = JSON.parse(rules).map(([s, f, r]) => [new RegExp(s, f), r]);';
  new Script(prepare).runInContext(context);
  const script = new Script(
    `JSON.stringify(JSON.parse(texts).map((text) =>
       all.reduce((rest, [rule, by = '[redacted]']) => rest.replace(rule, by), text)))`,
  );
  let failures = 0;
  let pausedUntil = 0;
  const redact: Redactor = (texts) => {
    if (performance.now() < pausedUntil) return null;
    context['texts'] = JSON.stringify(texts);
    try {
      const redacted = script.runInContext(context, { timeout: REDACTION_MS });
      failures = 0;
      return JSON.parse(redacted) as string[];
    } catch {
      failures += 1;
      if (failures >= MAX_FAILURES) pausedUntil = performance.now() + PAUSE_MS;
      return null;
    } finally {
      context['texts'] = '[]';
    }
  };
  REDACTORS.set(settings, redact);
  return redact;
}
