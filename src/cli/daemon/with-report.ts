import { reportUsage } from '../../administration/usage-report.ts';
import type { CassetteMiss } from '../../exchanges/cassettes/upstream.ts';
import { printable } from '../../operations/batch/filename.ts';
import { decimal } from '../../store/credits.ts';
import type { RequestRecord } from '../../store/requests/record.ts';
import type { Store } from '../../store/store.ts';
import { counted } from '../../words.ts';
import { printRows } from '../terminal/table.ts';

const NONE = {
  requests: 0,
  failed: 0,
  inputTokens: 0,
  outputTokens: 0,
  credits: 0,
  /** Requests to providers that no cassette answers. */
  misses: 0,
};

type Totals = Readonly<typeof NONE>;

/** The requests of a command, by the names of models, and of endpoints that have none. */
export type WithReport = Awaited<ReturnType<typeof reportOf>>;

/** Endpoints of forms or with a default model: the store counts their failures by model, except for invalid requests. */
const COUNTED_BY_STORE = /moderations$|transcriptions$/;

function sum(one: Totals, other: Totals): Totals {
  const names = Object.keys(NONE) as (keyof Totals)[];
  // Credits are decimals of micro-credits, which floating point would blur.
  const sums = names.map((name) => [name, Math.round((one[name] + other[name]) * 1e6) / 1e6]);
  return Object.fromEntries(sums) as Totals;
}

const isFailed = ({ status, error }: RequestRecord) => status >= 400 || error !== null;

/** Sums the requests that a daemon has answered. */
export async function reportOf(store: Store, misses: readonly CassetteMiss[]) {
  const requests = await requestsOf(store);
  const models = new Map<string, Totals>();
  const add = (model: string, totals: Partial<Totals>) =>
    models.set(model, sum(models.get(model) ?? NONE, { ...NONE, ...totals }));
  for (const request of requests) {
    if (request.model !== null)
      add(request.model, { requests: 1, failed: Number(isFailed(request)) });
  }
  // The store has tokens and credits, and the requests for images and batches, but perhaps not yet the last failures.
  for (const row of (await reportUsage(store, { by: ['model'] })).rows) {
    const { model = '', errors, inputTokens, outputTokens, credits } = row;
    const seen = models.get(model) ?? NONE;
    const failed = Math.max(seen.failed, errors);
    const count = Math.max(seen.requests, row.requests, failed);
    models.set(model, { ...NONE, requests: count, failed, inputTokens, outputTokens, credits });
  }
  for (const request of requests) {
    const { model, named_model: namedModel, route, error } = request;
    const isCounted = COUNTED_BY_STORE.test(route) && error?.type !== 'invalid_request';
    if (model !== null || isCounted || !isFailed(request)) continue;
    add(namedModel ?? route, { requests: 1, failed: 1 });
  }
  for (const { model } of misses) add(model, { misses: 1 });
  const names = [...models.keys()].sort();
  return {
    ...[...models.values()].reduce(sum, NONE),
    models: names.map((model) => ({ model, ...models.get(model)! })),
    failures: failuresOf(requests),
    // A message for each miss: clients repeat a request that failed.
    missed: [...new Set(misses.map(({ message }) => message))],
  };
}

/** Requests that are listed by their failures; the sums of the store are of all. */
const MAX_REQUESTS = 100_000;

/** The requests of the log, oldest first. */
async function requestsOf({ requests }: Store): Promise<readonly RequestRecord[]> {
  const found: RequestRecord[] = [];
  for (let after: number | null = Infinity; after !== null && found.length < MAX_REQUESTS; ) {
    const page = await requests.query({}, { limit: 1000, after });
    found.push(...page.records);
    after = page.next;
  }
  return found.reverse();
}

/** The failures of requests, the most frequent first. */
function failuresOf(requests: readonly RequestRecord[]) {
  const failures = new Map<string, ReturnType<typeof failureOf> & { readonly count: number }>();
  for (const failure of requests.filter(isFailed).map(failureOf)) {
    const key = JSON.stringify(failure);
    failures.set(key, { ...failure, count: (failures.get(key)?.count ?? 0) + 1 });
  }
  return [...failures.values()].sort((one, other) => other.count - one.count);
}

const failureOf = ({ status, error }: RequestRecord) => ({
  status,
  code: error?.code ?? error?.type ?? null,
  message: error?.message ?? null,
});

/** Failures that are printed, of which the JSON has all. */
const MAX_FAILURES = 5;

const TITLES = ['MODEL', 'REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'CREDITS', 'MISSES'];

function rowsOf({ models, missed: _, failures: __, ...totals }: WithReport): string[][] {
  const rows = models.length > 1 ? [...models, { model: 'total', ...totals }] : models;
  return rows.map(({ model, requests, failed, inputTokens, outputTokens, credits, misses }) => {
    const counts = [requests, failed, inputTokens, outputTokens].map(String);
    return [printable(model), ...counts, decimal(credits), String(misses)];
  });
}

function linesBelow({ failures, missed }: WithReport): string[] {
  const shown = failures.slice(0, MAX_FAILURES);
  const more = failures.length - shown.length;
  return [
    ...shown.map(({ count, status, code, message }) => `${count} x ${status} ${code}: ${message}`),
    ...(more > 0 ? [`and ${counted(more, 'other failure')}`] : []),
    ...missed.map((message) => `cassette miss: ${message}`),
  ].map(printable);
}

const NO_REQUESTS =
  'no requests; the command finds the daemon by OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL or ORIEL_URL';

/** The report as lines for people. */
export async function textOf(report: WithReport): Promise<string> {
  if (report.models.length === 0) return `oriel: ${NO_REQUESTS}\n`;
  const below = linesBelow(report).map((line) => [line]);
  let text = '';
  await printRows([TITLES, ...rowsOf(report), ...below], undefined, async (line) => {
    text += line;
  });
  return text;
}

/** The report in Markdown, for the summary of a job on GitHub. */
export function markdownOf(report: WithReport): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |\n`;
  const titles = TITLES.map((title) => title[0] + title.slice(1).toLowerCase());
  const head = line(titles) + line(titles.map((_, index) => (index === 0 ? '---' : '--:')));
  const below = linesBelow(report).map((text) => `- ${escaped(text)}\n`);
  const body =
    report.models.length === 0 ? `${NO_REQUESTS}\n` : head + rowsOf(report).map(line).join('');
  return `### oriel with\n\n${body}${below.length > 0 ? `\n${below.join('')}` : ''}\n`;
}

/** Shows a text as it is: models and messages come from requests, which must not add markup. */
function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>()#|!@~&]/g, (sign) => `&#${sign.codePointAt(0)};`);
}
