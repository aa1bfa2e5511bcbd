import type { Config, Model } from '../config/settings/schema.ts';
import { codedFailure, Failure } from '../failure.ts';
import { redactForClient, secretsRedactor } from '../routing/redaction.ts';
import { upstreamFailure } from '../routing/upstream-failure.ts';
import { statusOf } from '../store/account.ts';
import type { Reservation } from '../store/budgets.ts';
import { newId } from '../store/identifier.ts';
import type { MeteredUsage } from '../store/ledger.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import type { Admit, Ledger, Load } from '../text/billing/meter.ts';
import { TextReport } from '../text/canonical/report.ts';
import { dialectAt } from '../text/dialects/registry.ts';
import { embeddingRow } from '../text/embeddings/embedding-row.ts';
import type { TextGateway } from '../text/gateway.ts';
import type { RowGateway } from '../text/rows/gateway.ts';
import { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { BatchBody, BatchEnd } from './batch.ts';
import { EMBEDDINGS, MESSAGES, parseLine } from './input.ts';
import { type RemoteAnswer, upstreamWith } from './remote-results.ts';

/** The result of one request, and its charges. */
export interface LineResult {
  readonly line: string;
  readonly isFailed: boolean;
  /** Whether the batch ended before the provider ran it. */
  readonly isUnrun?: true;
  readonly usage: readonly MeteredUsage[];
  /** Credits that stay reserved until the charge is written. */
  readonly held: readonly Reservation[];
}

export interface LineServices {
  readonly config: () => Config;
  readonly store: Store;
  readonly text: TextGateway;
  readonly rows: RowGateway;
  readonly admit: Admit;
  /** Adds a request to the log of requests. */
  readonly record: (line: RanLine, end: LineEnd) => void;
}

/** A log record of a request of a batch. It has no time to first token, since no client is waiting. */
export interface RanLine {
  readonly id: string;
  readonly holder: KeyHolder;
  readonly tags: string;
  readonly body: unknown;
  readonly answer: string;
  readonly textReport: TextReport;
  readonly failure: Failure | null;
}

/** How a request of a batch ended. */
export interface LineEnd {
  /** Path of the endpoint. */
  readonly route: string;
  readonly status: number;
  /** Milliseconds that its last attempt took. */
  readonly elapsed: number;
}

/** Delay between two attempts of a request, in milliseconds: at first, and at most. */
const [FIRST_WAIT, MAX_WAIT] = [500, 60_000];

/** Maximum attempts of a request if its provider is unavailable, and if the account has no credits. */
const [MAX_ATTEMPTS, MAX_UNPAID] = [8, 3];

interface LineRun {
  readonly holder: KeyHolder;
  /** From 1. */
  readonly attempt: number;
  /** The line's result in a batch of the provider; null if the request must be sent. */
  readonly given: RemoteAnswer | 'unrun' | null;
}

/** Requests of batches do not stream. */
const NO_STREAM = {
  ...{ started: false, isBlocked: false, setHeader() {}, write: () => true },
  drained: async () => {},
};

/**
 * Runs a request of a batch through the same stages as any other request.
 *
 * @returns milliseconds until the next attempt where it has no result yet; null where this node stops
 */
export async function runLine(
  services: LineServices,
  bytes: Buffer,
  { endpoint, tags, remote }: Pick<BatchBody, 'endpoint' | 'tags' | 'remote'>,
  { holder, attempt, given }: LineRun,
): Promise<LineResult | number | null> {
  const { text, rows, admit, store, record, config } = services;
  const { customId, body } = parseLine(bytes, endpoint);
  if (given === 'unrun') {
    const line = unrunLine(endpoint, customId, remote!.ended!);
    return { line, isFailed: true, isUnrun: true, usage: [], held: [] };
  }
  const requestId = newId('req');
  const report = new TextReport(null, tags);
  const { ledger, usage, held } = lineLedger(services);
  const admission: { end(used: number): void }[] = [];
  const dialect = dialectAt(endpoint);
  const start = performance.now();
  const result = (status: number, answer: string, failure: Failure | null = null) => {
    record(
      { id: requestId, holder, tags, body, answer, textReport: report, failure },
      { route: endpoint, status, elapsed: performance.now() - start },
    );
    const line = resultLine(endpoint, customId, { requestId, status, answer });
    return { line, isFailed: status !== 200, usage, held };
  };
  const call = {
    ...{ requestId, body, headers: {}, holder, report, ledger, isBackground: true as const },
    admit: async (load: Load) => void (given ?? admission.push(await admit(holder, load))),
  };
  try {
    if (statusOf(holder.key, store.now) !== 'active') {
      const message = 'the API key of the batch was revoked or has expired';
      throw codedFailure('revoked_api_key', message);
    }
    if (endpoint === EMBEDDINGS) {
      const { signal } = new AbortController();
      return result(200, await rows.answer(embeddingRow, { ...call, signal }));
    }
    if (given && given.status !== 200) {
      const redact = secretsRedactor(config().providers);
      const origin = { name: remote!.provider, redact };
      throw redactForClient(upstreamFailure(given.status, given.body), origin);
    }
    const batched = given && { provider: remote!.provider, upstream: upstreamWith(given) };
    const asked = { ...call, ...wholeTextCall(endpoint), ...(batched && { batched }) };
    return result(200, (await text.answer(asked))!);
  } catch (error) {
    const failure = failureOf(error);
    const wait =
      given === null || given.status === 200
        ? waitAfter(failure, attempt, given !== null)
        : undefined;
    if (wait !== undefined) {
      for (const one of held) await store.release(one);
      return wait;
    }
    const { type, message, param, code, status } = failure;
    if (report.model !== null) {
      const counts = { requests: usage.length === 0 ? 1 : 0, errors: 1 };
      usage.push({ model: report.model, tags, counts, charge: 0 });
    }
    const own = { error: { type, message, param, code } };
    const shaped = endpoint === MESSAGES ? dialect!.errorBody!(own, requestId, status) : own;
    return result(status, JSON.stringify(shaped), failure);
  } finally {
    for (const one of admission) one.end(report.tokens);
  }
}

/** Delay before a request is retried, as `runLine` returns it; undefined if the failure is final. */
function waitAfter(
  { type, code, status, retryAfter }: Failure,
  attempt: number,
  isAnswered: boolean,
) {
  if (code === 'shutting_down') return null;
  const isUnpaid = type === 'insufficient_quota';
  const most = isUnpaid ? MAX_UNPAID : status !== 503 ? 0 : isAnswered ? Infinity : MAX_ATTEMPTS;
  if (type !== 'rate_limit' && attempt >= most) return undefined;
  // A budget that resets tomorrow stays empty until then.
  if (isUnpaid) return FIRST_WAIT;
  const backoff = FIRST_WAIT * 2 ** Math.min(attempt, 10) * (0.5 + Math.random() / 2);
  return Math.min(MAX_WAIT, Math.max((retryAfter ?? 0) * 1000, backoff));
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return codedFailure('internal_error', 'an internal error', { cause: error });
}

/** The options of the text gateway for a request that does not stream. */
export const wholeTextCall = (endpoint: string) => ({
  ...{ dialect: dialectAt(endpoint)!.name, address: { model: null, stream: null }, bytes: null },
  ...{ clientDisconnect: new LightAbortSignal(), response: NO_STREAM, onCharging() {} },
});

/** Collects the charges of one request, which are stored together with its result. */
function lineLedger({ store, config }: Pick<LineServices, 'store' | 'config'>) {
  const usage: MeteredUsage[] = [];
  const held: Reservation[] = [];
  const ledger: Ledger = {
    reserve: (accountId, keyId, amount) => store.reserve(accountId, keyId, amount),
    release: (reservation) => store.release(reservation),
    async settle(payer, metered) {
      const charge = Math.ceil(metered.charge * factorOf(config().models[metered.model]));
      usage.push({ ...metered, charge });
      if ('id' in payer) await store.release(payer);
      const reserved =
        charge > 0 && (await store.reserve(payer.accountId, payer.keyId, charge).catch(() => null));
      if (reserved) held.push(reserved);
      return charge;
    },
  };
  return { ledger, usage, held };
}

/** Price of a request in a batch, as a share of the usual price. */
export function factorOf(model: Model | undefined): number {
  return (model?.price as { readonly batch?: number } | undefined)?.batch ?? 1;
}

interface Answer {
  readonly requestId: string;
  readonly status: number;
  /** JSON. */
  readonly answer: string;
}

/** The result of a request, as a line of the file of results. */
function resultLine(
  endpoint: string,
  customId: string,
  { requestId, status, answer }: Answer,
): string {
  const name = JSON.stringify(customId);
  // Line breaks are outside of strings.
  const body = answer.replace(/[\r\n]+/g, ' ').trim();
  if (endpoint === MESSAGES) {
    const [type, member] = status === 200 ? ['succeeded', 'message'] : ['errored', 'error'];
    return `{"custom_id":${name},"result":{"type":"${type}","${member}":${body}}}`;
  }
  const response = `{"status_code":${status},"request_id":"${requestId}","body":${body}}`;
  return `{"id":"${newId('batch_req')}","custom_id":${name},"response":${response},"error":null}`;
}

/** The result of a request that did not run before its batch ended. */
export function unrunLine(endpoint: string, customId: string, end: BatchEnd): string {
  if (endpoint === MESSAGES) {
    const type = end === 'cancelled' ? 'canceled' : end;
    return JSON.stringify({ custom_id: customId, result: { type } });
  }
  const error = { code: `batch_${end}`, message: `This request did not run: the batch is ${end}.` };
  return JSON.stringify({ id: newId('batch_req'), custom_id: customId, response: null, error });
}
