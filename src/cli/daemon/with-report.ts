import { decimal } from '../../administration/records.ts';
import { reportUsage } from '../../administration/usage-report.ts';
import type { RecentRequest, RecentRequests } from '../../http/observability/recent-requests.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { Store } from '../../store/store.ts';
import { Table } from '../terminal/table.ts';
import { counted } from '../terminal/terminal.ts';

interface Totals {
  readonly requests: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly credits: number;
  /** Requests to providers that no cassette answers. */
  readonly misses: number;
}

type ModelTotals = Totals & { readonly model: string };

/** The same answer to several requests that failed. */
interface FailureCount {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
  readonly count: number;
}

/** The requests of a command. */
export interface WithReport extends Totals {
  /** By the names of models, and of endpoints that have none. */
  readonly models: readonly ModelTotals[];
  /** The most frequent first. */
  readonly failures: readonly FailureCount[];
  /** Each miss of a cassette, as the list at the end of the daemon names it. */
  readonly missed: readonly string[];
}

/** A request to a provider without a recorded answer. */
export interface Miss {
  readonly model: string;
  readonly message: string;
}

/** Endpoints of forms or with a default model: the store counts their failures by model, except for invalid requests. */
const COUNTED_BY_STORE = /moderations$|transcriptions$/;

const NONE: Totals = {
  requests: 0,
  failed: 0,
  inputTokens: 0,
  outputTokens: 0,
  credits: 0,
  misses: 0,
};

function sum(one: Totals, other: Totals): Totals {
  return {
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    // Decimals of micro-credits, which floating point would blur.
    credits: Math.round((one.credits + other.credits) * 1e6) / 1e6,
    misses: one.misses + other.misses,
  };
}

const isFailed = ({ status, errorType }: RecentRequest) => status >= 400 || errorType !== null;

/** Sums the requests that a daemon has answered. */
export async function reportOf(
  store: Store,
  recent: RecentRequests,
  misses: readonly Miss[],
): Promise<WithReport> {
  const requests = recent.list();
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
    const most = {
      requests: Math.max(seen.requests, row.requests),
      failed: Math.max(seen.failed, errors),
    };
    models.set(model, { ...NONE, ...most, inputTokens, outputTokens, credits });
  }
  for (const request of requests) {
    const { model, namedModel, route, errorType } = request;
    const isCounted = COUNTED_BY_STORE.test(route) && errorType !== 'invalid_request';
    if (model !== null || isCounted || !isFailed(request)) continue;
    add(namedModel ?? route, { requests: 1, failed: 1 });
  }
  for (const { model } of misses) add(model, { misses: 1 });
  const rows = [...models].map(([model, totals]) => ({ model, ...totals }));
  rows.sort((a, b) => (a.model < b.model ? -1 : 1));
  return {
    ...rows.reduce<Totals>(sum, NONE),
    models: rows,
    failures: failuresOf(requests),
    missed: misses.map(({ message }) => message),
  };
}

function failuresOf(requests: readonly RecentRequest[]): FailureCount[] {
  const counts = new Map<string, FailureCount>();
  for (const request of requests.filter(isFailed).toReversed()) {
    const { status, errorCode, errorType, errorMessage } = request;
    const failure = { status, code: errorCode ?? errorType, message: errorMessage ?? '' };
    const key = JSON.stringify(failure);
    counts.set(key, { ...failure, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/** Failures that are printed, of which the JSON has all. */
const MAX_FAILURES = 5;

const TITLES = ['MODEL', 'REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'CREDITS', 'MISSES'];

function cellsOf(name: string, totals: Totals): string[] {
  const { requests, failed, inputTokens, outputTokens, credits, misses } = totals;
  const counts = [requests, failed, inputTokens, outputTokens].map(String);
  return [printable(name), ...counts, decimal(credits), String(misses)];
}

function rowsOf(report: WithReport): string[][] {
  const { models } = report;
  const rows = models.map(({ model, ...totals }) => cellsOf(model, totals));
  return models.length > 1 ? [...rows, cellsOf('total', report)] : rows;
}

function linesBelow({ failures, missed }: WithReport): string[] {
  const more = failures.length - MAX_FAILURES;
  return [
    ...failures
      .slice(0, MAX_FAILURES)
      .map(({ count, status, code, message }) => `${count} x ${status} ${code}: ${message}`),
    ...(more > 0 ? [`and ${counted(more, 'other failure')}`] : []),
    ...missed.map((message) => `cassette miss: ${message}`),
  ].map(printable);
}

const NO_REQUESTS =
  'no requests; the command finds the daemon by OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL or ORIEL_URL';

/** The report as lines for people. */
export async function textOf(report: WithReport): Promise<string> {
  if (report.models.length === 0) return `oriel: ${NO_REQUESTS}\n`;
  let text = '';
  const table = new Table(undefined, async (line) => {
    text += line;
  });
  for (const row of [TITLES, ...rowsOf(report)])
    await table.add(row.map((cell) => ({ text: cell })));
  await table.flush();
  return (
    text +
    linesBelow(report)
      .map((line) => `${line}\n`)
      .join('')
  );
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
