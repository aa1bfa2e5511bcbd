import type { Bench, Trial } from '../cases.ts';
import type { Server } from '../daemon/server.ts';
import { fixed, goalOf, notMeasured, spread } from '../daemon/trial.ts';
import {
  beyond,
  compared,
  contest,
  faultsOf,
  noteOf,
  over,
  type Standing,
  standingNamed,
  takesPart,
  typical,
} from './contest.ts';
import { type Cores, SEPARATE, SHARED, taskset } from './cores.ts';
import { type Contender, Field } from './field.ts';
import { ANSWER } from './formats/format.ts';
import { loader, type Post, putLoad } from './load.ts';
import { nginx, startFixedUpstream } from './nginx.ts';

const CONNECTIONS = [1, 64];

/**
 * Seconds of load before the first round. V8 optimises the functions of a request over its first 20,000: until
 * then a request costs a small program twice its later CPU, and a large one, in which more is compiled, four times.
 */
const WARM_UP_SECONDS = 10;

type Figure = 'requestsPerSecond' | 'latency' | 'cpuPerThousand';

/** Whole responses from an upstream that responds at once: the rest is the gateway's own work. */
export async function json(bench: Bench): Promise<Trial> {
  const title = 'json: whole answers';
  if (nginx.file === undefined) return notMeasured('json', title, nginx, 'requests per second');
  const { standings, section, ...trial } = await compare(bench, 'json', SHARED);
  return { ...trial, section: { ...section, title }, goals: goalsOf(standings) };
}

/**
 * The same with the gateway on one core and everything else on the other: on shared cores, threads of
 * the gateway beside the main one (collection of garbage, synchronisation of the journal) use what the
 * load leaves.
 */
export async function jsonPinned(bench: Bench): Promise<Trial> {
  const id = 'json-pinned';
  const title = 'json-pinned: whole answers, the gateway alone on one core';
  for (const program of [nginx, taskset]) {
    if (program.file === undefined) return notMeasured(id, title, program, 'requests per second');
  }
  const { standings, section, ...trial } = await compare(bench, id, SEPARATE);
  const goals = CONNECTIONS.map((connections) =>
    rateGoal(id, standings, 'oriel', connections, 0.75),
  );
  return { ...trial, section: { ...section, title }, goals };
}

/** Measures all contenders over 1 and 64 connections. */
async function compare(bench: Bench, id: string, cores: Cores) {
  const { settings, folder } = bench;
  const upstream = await cores.others(() => startFixedUpstream(`${folder}/upstream`));
  const field = new Field(bench, upstream);
  const seconds = settings.quick ? 2 : 5;
  let standings: Standing<Figure>[];
  try {
    standings = await contest<Figure>(bench, {
      contenders: takesPart(settings, [
        field.direct(),
        field.nginx(),
        field.script('null-route', 'peer', 'Fastify, a constant response'),
        field.script('bytes', 'peer', 'Fastify and undici, nothing parsed'),
        field.script('full', 'limit', 'Fastify and undici, parsed, checked and re-encoded'),
        field.script('metered', 'limit', 'full with key, limit, log, metrics and a charge on disk'),
        field.portkey(),
        field.oriel(),
        ...field.orielTranslating(),
      ]).map((contender) => ({
        ...contender,
        start: () => cores.gateway(() => contender.start()),
      })),
      loads: CONNECTIONS,
      rounds: settings.rounds,
      progress: 'requestsPerSecond',
      check,
      measure: async (server, contender, connections, round) => {
        const before = server.cpu();
        const post = postOf(server, contender);
        const duration = round === 0 && connections > 1 ? WARM_UP_SECONDS : seconds;
        const load = await cores.others(() => putLoad(bench, post, connections, duration));
        const cpuPerThousand = ((server.cpu() - before) * 1e6) / load.requests;
        const { requestsPerSecond, latency } = load;
        return { requestsPerSecond, cpuPerThousand, ...(latency === undefined ? {} : { latency }) };
      },
    });
  } finally {
    await upstream.stop();
  }
  return {
    standings,
    section: {
      text:
        `One request of ${Buffer.byteLength(postOf(upstream, field.direct()).body)} bytes for ` +
        `${seconds} s by ${loader}, before nginx with an answer of ` +
        `${Buffer.byteLength(JSON.stringify(field.direct().format.answer()))} bytes.`,
      table: {
        headings: [
          'contender',
          'connections',
          'requests/s',
          '÷ full',
          'added ms, median',
          'CPU ms per 1000',
          'CPU ÷ full',
          'ran with',
        ],
        rows: CONNECTIONS.flatMap((connections) =>
          standings.map((standing) => rowOf(standings, standing, connections)),
        ),
      },
    },
    faults: faultsOf(id, standings),
    raw: standings.map(({ contender, rounds }) => ({ name: contender.name, rounds: [...rounds] })),
  };
}

function postOf({ url }: Pick<Server, 'url'>, { format, headers }: Contender): Post {
  return {
    url: url + format.path,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(format.request('json', false)),
  };
}

async function check(server: Server, contender: Contender): Promise<void> {
  const { url, ...post } = postOf(server, contender);
  const answer = await fetch(url, { method: 'POST', ...post });
  const body = await answer.text();
  const isRight = answer.status === 200 && contender.format.textOf(JSON.parse(body)) === ANSWER;
  if (!isRight) throw new Error(`answered ${answer.status}: ${body.slice(0, 300)}`);
}

function rowOf(
  standings: readonly Standing<Figure>[],
  standing: Standing<Figure>,
  connections: number,
): string[] {
  const { contender } = standing;
  const full = standingNamed(standings, 'full');
  const direct = standingNamed(standings, 'direct');
  const added = compared(standing, direct, connections, 'latency', beyond);
  return [
    contender.name,
    String(connections),
    fixed(typical(standing, connections, 'requestsPerSecond'), 0),
    spread(compared(standing, full, connections, 'requestsPerSecond', over)),
    contender.name === 'direct' ? '' : spread(added),
    fixed(typical(standing, connections, 'cpuPerThousand'), 1),
    spread(compared(standing, full, connections, 'cpuPerThousand', over)),
    noteOf(standing),
  ];
}

function rateGoal(
  id: string,
  standings: readonly Standing<Figure>[],
  name: string,
  connections: number,
  bound: number,
) {
  return goalOf(
    id,
    `${name}: requests per second at ${connections} ≥ ${fixed(bound)} × full`,
    compared(
      standingNamed(standings, name),
      standingNamed(standings, 'full'),
      connections,
      'requestsPerSecond',
      over,
    ),
    bound,
    'higher',
  );
}

function goalsOf(standings: readonly Standing<Figure>[]) {
  const full = standingNamed(standings, 'full');
  const direct = standingNamed(standings, 'direct');
  const own = standingNamed(standings, 'oriel');
  const rate = (name: string, connections: number, bound: number) =>
    rateGoal('json', standings, name, connections, bound);
  return [
    rate('oriel', 1, 0.8),
    goalOf(
      'json',
      'oriel: added at 1 ≤ 0.40 ms',
      compared(own, direct, 1, 'latency', beyond),
      0.4,
      'lower',
    ),
    rate('oriel', 64, 0.8),
    goalOf(
      'json',
      'oriel: CPU at 64 ≤ 1.30 × full',
      compared(own, full, 64, 'cpuPerThousand', over),
      1.3,
      'lower',
    ),
    ...['oriel-messages-chat', 'oriel-chat-responses'].flatMap((name) => [
      rate(name, 1, 0.65),
      rate(name, 64, 0.6),
    ]),
  ];
}
