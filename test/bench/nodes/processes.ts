import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Server } from '../daemon/server.ts';
import { contest, named, outcomeOf, type Standing } from '../gateway/contest.ts';
import { Field } from '../gateway/field.ts';
import { ANSWER, chat } from '../gateway/formats.ts';
import { postOf } from '../gateway/json.ts';
import { putLoad } from '../gateway/load.ts';
import { nginx, startNginx } from '../gateway/nginx.ts';
import { fixed, spread } from '../series.ts';
import { type Bench, goalOf, tableOf } from '../trial.ts';
import { type Case, engineOf } from './field.ts';
import type { Postgres } from './postgres.ts';
import { CLIENT } from './text.ts';

const GOAL = 'CPU of a request with two processes ≤ 1.11 × one on PostgreSQL';
const CONNECTIONS = 64;
/** Until V8 has compiled the functions of a request in each process. */
const WARM_UP_SECONDS = 10;

type Figure = 'requestsPerSecond' | 'cpuPerThousand' | 'withServer';

const words = ANSWER.split(/(?<= )/);
const chunks = words.map((word, index) => chat.delta(word, index));
const KINDS = [
  { kind: 'answers', type: 'application/json', body: JSON.stringify(chat.answer()) },
  {
    kind: `streams of ${words.length} chunks`,
    type: 'text/event-stream',
    body: [chat.opening(), ...chunks, chat.closing(ANSWER, words.length)].join(''),
  },
];

/**
 * One daemon of two processes beside one of one process, on the same store, and beside one on lowdb. Load and upstream
 * take part of the cores, so the goal is not a rate: two cores do at least 1.8 times the requests of one if a request
 * takes at most 1.11 times the CPU.
 */
export const processes: Case = {
  title: 'processes: text requests of one daemon with one and two processes',
  goal: GOAL,
  program: nginx,
  work: async (bench, server) => {
    const results = [];
    for (const { kind, type, body } of KINDS) {
      const upstream = () => startFileUpstream(join(bench.folder, 'upstream'), type, body);
      results.push(await Server.during(upstream, (at) => compare(bench, server, kind, at)));
    }
    const rows = results.flatMap(({ kind, standings }) =>
      standings.map((standing) => ({ kind, standing, standings })),
    );
    const ratios = (
      { standing, standings }: (typeof rows)[number],
      name: 'lowdb' | 'postgres',
      figure: Figure,
    ) =>
      standing.name === name
        ? ''
        : spread(standing.over(named(standings, name), figure, CONNECTIONS));
    return {
      text: `${CONNECTIONS} connections for ${secondsOf(bench)} s; the upstream sends a stream at once.`,
      ...tableOf(rows, [
        ['requests', ({ kind }) => kind],
        ['daemon', ({ standing }) => standing.name],
        ['requests/s', (row) => fixed(row.standing.median('requestsPerSecond', CONNECTIONS), 0)],
        ['÷ lowdb', (row) => ratios(row, 'lowdb', 'requestsPerSecond')],
        ['CPU ms per 1000', (row) => fixed(row.standing.median('cpuPerThousand', CONNECTIONS), 0)],
        ['÷ lowdb', (row) => ratios(row, 'lowdb', 'cpuPerThousand')],
        ['÷ postgres', (row) => ratios(row, 'postgres', 'cpuPerThousand')],
        ['with the database', (row) => ratios(row, 'postgres', 'withServer')],
      ]),
      goals: results.map(({ kind, standings }) => {
        const two = named(standings, 'two-processes');
        const figures =
          two?.over(named(standings, 'postgres'), 'cpuPerThousand', CONNECTIONS) ?? [];
        return goalOf(`${kind}: ${GOAL}`, figures, 1.11);
      }),
      faults: results.flatMap(({ standings }) => outcomeOf('processes', standings).faults ?? []),
      raw: results.map(({ standings }) => outcomeOf('processes', standings).raw),
    };
  },
};

const secondsOf = ({ settings }: Bench): number => (settings.quick ? 2 : 5);

async function compare(bench: Bench, server: Postgres, kind: string, upstream: Server) {
  const [name] = kind.split(' ');
  const field = new Field({ ...bench, folder: join(bench.folder, name!) }, upstream);
  const engine = (schema: string) => engineOf(server, `${schema}_${name}`);
  const two = engine('two');
  const standings: Standing<Figure>[] = await contest<Figure>(bench, {
    contenders: [
      { ...field.oriel('lowdb'), role: 'limit' },
      field.oriel('postgres', engine('one')),
      field.oriel('two-processes', { ...two, config: { ...two.config, server: { processes: 2 } } }),
    ],
    loads: [CONNECTIONS],
    progress: 'requestsPerSecond',
    check: async (daemon) => {
      const { url, ...post } = postOf(daemon, CLIENT);
      const { status } = await fetch(url, { method: 'POST', ...post });
      if (status !== 200) throw new Error(`answered ${status}`);
    },
    measure: async (daemon, _contender, connections, round) => {
      const before = { daemon: daemon.cpuOfFamily(), server: server.cpu() };
      const seconds = round === 0 ? WARM_UP_SECONDS : secondsOf(bench);
      const post = {
        ...postOf(daemon, CLIENT),
        body: JSON.stringify(chat.request('json', kind !== 'answers')),
      };
      const { requests, requestsPerSecond } = await putLoad(bench, post, connections, seconds);
      const cpu = daemon.cpuOfFamily() - before.daemon;
      const cpuPerThousand = (cpu * 1e6) / requests;
      const withServer = ((cpu + server.cpu() - before.server) * 1e6) / requests;
      return { requestsPerSecond, cpuPerThousand, withServer };
    },
  });
  return { kind, standings };
}

/** An nginx that answers each request with one body of any length. */
async function startFileUpstream(folder: string, type: string, body: string): Promise<Server> {
  const root = join(folder, 'files');
  await mkdir(join(root, dirname(chat.path)), { recursive: true });
  writeFileSync(join(root, chat.path), body);
  // nginx answers a POST to a file with 405.
  const settings = `root ${root}; default_type ${type}; error_page 405 =200 $uri;`;
  return startNginx(folder, '', `location = ${chat.path} { ${settings} }`);
}
