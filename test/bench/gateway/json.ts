import { Server } from '../daemon/server.ts';
import { fixed, spread } from '../series.ts';
import { type Bench, goalOf, needing, type Trial, tableOf } from '../trial.ts';
import { atLoads, contest, named, outcomeOf, type Standing, takesPart } from './contest.ts';
import { type Contender, Field } from './field.ts';
import { ANSWER } from './formats.ts';
import { loader, type Post, putLoad } from './load.ts';
import { nginx, startFixedUpstream } from './nginx.ts';

const CONNECTIONS = [1, 64];

/**
 * Seconds of load before the first round. V8 optimises the functions of a request over its first 20,000: until
 * then a request costs a small program twice its later CPU, and a large one, in which more is compiled, four times.
 */
const WARM_UP_SECONDS = 10;

type Figure = 'requestsPerSecond' | 'latency' | 'cpuPerThousand';
type Standings = readonly Standing<Figure>[];

const RATE = 'requests per second';

/** Whole responses from an upstream that responds at once, over 1 and 64 connections: the rest is the gateway's work. */
export const json = needing([nginx], 'json: whole answers', RATE, (bench) => {
  const start = () => startFixedUpstream(`${bench.folder}/upstream`);
  return Server.during(start, async (upstream) => {
    const field = new Field(bench, upstream);
    const standings = await compare(bench, field);
    const [full, direct] = [named(standings, 'full'), named(standings, 'direct')];
    const { format } = field.direct();
    const body = Buffer.byteLength(postOf(upstream, field.direct()).body);
    const answer = Buffer.byteLength(JSON.stringify(format.answer()));
    return {
      title: 'json: whole answers',
      text:
        `One request of ${body} bytes for ${secondsOf(bench)} s by ${loader}, before nginx with ` +
        `an answer of ${answer} bytes.`,
      ...tableOf(atLoads(standings, CONNECTIONS), [
        ['contender', ({ standing }) => standing.name],
        ['connections', ({ load }) => `${load}`],
        [
          'requests/s',
          ({ standing, load }) => fixed(standing.median('requestsPerSecond', load), 0),
        ],
        ['÷ full', ({ standing, load }) => spread(standing.over(full, 'requestsPerSecond', load))],
        [
          'added ms, median',
          ({ standing, load }) =>
            standing === direct ? '' : spread(standing.beyond(direct, 'latency', load)),
        ],
        [
          'CPU ms per 1000',
          ({ standing, load }) => fixed(standing.median('cpuPerThousand', load), 1),
        ],
        ['CPU ÷ full', ({ standing, load }) => spread(standing.over(full, 'cpuPerThousand', load))],
        ['ran with', ({ standing }) => standing.note],
      ]),
      goals: goals(standings),
      ...outcomeOf('json', standings),
    };
  });
});

function goals(standings: Standings): NonNullable<Trial['goals']> {
  const own = named(standings, 'oriel')!;
  const rate = (name: string, load: number, bound: number) =>
    rateGoal(standings, name, load, bound);
  const added = own?.beyond(named(standings, 'direct'), 'latency') ?? [];
  const cpu = own?.over(named(standings, 'full'), 'cpuPerThousand', 64) ?? [];
  return [
    rate('oriel', 1, 0.8),
    goalOf('oriel: added at 1 ≤ 0.40 ms', added, 0.4),
    rate('oriel', 64, 0.8),
    goalOf('oriel: CPU at 64 ≤ 1.30 × full', cpu, 1.3),
    ...['oriel-messages-chat', 'oriel-chat-responses'].flatMap((name) => [
      rate(name, 1, 0.65),
      rate(name, 64, 0.6),
    ]),
  ];
}

const secondsOf = ({ settings }: Bench): number => (settings.quick ? 2 : 5);

function compare(bench: Bench, field: Field): Promise<Standing<Figure>[]> {
  return contest<Figure>(bench, {
    contenders: takesPart(bench.settings, [
      field.direct(),
      field.nginx(),
      field.script('null-route', 'peer', 'Fastify, a constant response'),
      field.script('bytes', 'peer', 'Fastify and undici, nothing parsed'),
      field.script('full', 'limit', 'Fastify and undici, parsed, checked and re-encoded'),
      field.portkey(),
      field.oriel(),
      ...field.orielTranslating(),
    ]),
    loads: CONNECTIONS,
    progress: 'requestsPerSecond',
    check,
    measure: async (server, contender, connections, round) => {
      const before = server.cpu();
      const post = postOf(server, contender);
      const seconds = round === 0 && connections > 1 ? WARM_UP_SECONDS : secondsOf(bench);
      const { requests, ...load } = await putLoad(bench, post, connections, seconds);
      return { ...load, cpuPerThousand: ((server.cpu() - before) * 1e6) / requests };
    },
  });
}

export function postOf(
  { url }: Pick<Server, 'url'>,
  { format, headers }: Pick<Contender, 'format' | 'headers'>,
): Post {
  return {
    url: url + format.path,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(format.request('json', false)),
  };
}

export async function check(server: Server, contender: Contender): Promise<void> {
  const { url, ...post } = postOf(server, contender);
  const answer = await fetch(url, { method: 'POST', ...post });
  const body = await answer.text();
  const isRight = answer.status === 200 && contender.format.textOf(JSON.parse(body)) === ANSWER;
  if (!isRight) throw new Error(`answered ${answer.status}: ${body.slice(0, 300)}`);
}

function rateGoal(standings: Standings, name: string, connections: number, bound: number) {
  const ratios = named(standings, name)?.over(
    named(standings, 'full'),
    'requestsPerSecond',
    connections,
  );
  const goal = `${name}: ${RATE} at ${connections} ≥ ${fixed(bound)} × full`;
  return goalOf(goal, ratios ?? [], bound);
}
