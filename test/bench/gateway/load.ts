import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrk } from '../daemon/trial.ts';
import { measure } from '../measure.ts';
import type { Bench } from '../trial.ts';
import { installPeers } from './field.ts';

/** One request, which is sent repeatedly. */
export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Load {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** The median in milliseconds; autocannon reports only whole ones, which is too coarse here. */
  readonly latency?: number;
}

/** The load generator, for the report. */
export const loader = wrk.file === undefined ? 'autocannon (wrk is not installed)' : 'wrk';

/** Sends one request repeatedly, over some connections for some seconds. */
export async function putLoad(
  bench: Bench,
  post: Post,
  connections: number,
  seconds: number,
): Promise<Load> {
  const place = join(bench.folder, 'load');
  mkdirSync(place, { recursive: true });
  return wrk.file === undefined
    ? withAutocannon(bench, place, post, connections, seconds)
    : withWrk(wrk.file, place, post, connections, seconds);
}

async function withWrk(
  file: string,
  place: string,
  { url, headers, body }: Post,
  connections: number,
  seconds: number,
): Promise<Load> {
  const script = join(place, 'post.lua');
  // A JSON string is a Lua string too, unless it has \u.
  const quoted = (text: string) => JSON.stringify(text);
  const lines = [
    'wrk.method = "POST"',
    `wrk.body = ${quoted(body)}`,
    ...Object.entries(headers).map(
      ([name, value]) => `wrk.headers[${quoted(name)}] = ${quoted(value)}`,
    ),
    'done = function(summary, latency)',
    '  local errors = summary.errors',
    '  io.write(string.format(\'\\n{"requests":%d,"microseconds":%d,"median":%d,"errors":%d}\\n\',',
    '    summary.requests, summary.duration, latency:percentile(50),',
    '    errors.connect + errors.read + errors.write + errors.status + errors.timeout))',
    'end',
  ];
  writeFileSync(script, lines.join('\n'));
  // A slow response is a figure, not an error.
  const options = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '--timeout', '30s'];
  const args = [...options, '-s', script, url];
  await measure({ file, args }, place);
  const said = readFileSync(join(place, 'stdout'), 'utf8');
  const figures = JSON.parse(/^\{.*\}$/m.exec(said)![0]) as Record<string, number>;
  if (figures['errors'] !== 0) throw new Error(`wrk met errors: ${said}`);
  const requests = figures['requests']!;
  return {
    requests,
    requestsPerSecond: (requests * 1e6) / figures['microseconds']!,
    latency: figures['median']! / 1000,
  };
}

async function withAutocannon(
  { settings, log }: Bench,
  place: string,
  { url, headers, body }: Post,
  connections: number,
  seconds: number,
): Promise<Load> {
  const input = join(place, 'body.json');
  writeFileSync(input, body);
  const file = join(installPeers(settings, log), 'node_modules/autocannon/autocannon.js');
  const args = [
    ...[file, '--json', '-m', 'POST', '-c', `${connections}`, '-d', `${seconds}`, '-i', input],
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]),
    url,
  ];
  await measure({ file: process.execPath, args }, place);
  const said = JSON.parse(readFileSync(join(place, 'stdout'), 'utf8')) as {
    requests: { total: number; average: number };
    errors: number;
    non2xx: number;
  };
  if (said.errors + said.non2xx > 0)
    throw new Error(`autocannon met ${said.errors + said.non2xx} errors`);
  return { requests: said.requests.total, requestsPerSecond: said.requests.average };
}
