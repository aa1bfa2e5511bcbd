import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '../daemon/server.ts';
import { spread } from '../series.ts';
import { type Bench, goalOf, type Trial, tableOf } from '../trial.ts';
import { contest, named, outcomeOf } from './contest.ts';
import { type Contender, Field, startStreamUpstream } from './field.ts';
import { StreamClient } from './stream-client.ts';
import { contendersOf } from './streams.ts';

const READERS = 8;
/** Bytes that each reader reads every 50 ms. */
const SIP = 2048;
const GOAL = 32;

/** Memory of a server for clients that read an endless stream slowly. */
export async function slowReader(bench: Bench): Promise<Trial> {
  const { settings } = bench;
  const seconds = settings.quick ? 2 : 5;
  const start = () => startStreamUpstream(bench);
  const standings = await Server.during(start, (upstream) =>
    contest<'grown'>(bench, {
      contenders: contendersOf(settings, new Field(bench, upstream)),
      loads: [1],
      progress: 'grown',
      check: warm,
      measure: async (server, contender) => {
        server.forgetPeak();
        const before = server.peak();
        await readSlowly(server, contender, seconds);
        return { grown: Math.max(0, server.peak() - before) / 1e6 };
      },
    }),
  );
  return {
    title: 'slow-reader: memory',
    text:
      `What resident memory grows by at its peak while ${READERS} clients take ` +
      `${SIP * 20} bytes a second of streams without end, for ${seconds} s.`,
    ...tableOf(standings, [
      ['contender', ({ name }) => name],
      ['grown by MB', (standing) => spread(standing.values('grown'), 0)],
      ['ran with', ({ note }) => note],
    ]),
    goals: ['oriel', 'oriel-messages-chat', 'oriel-chat-responses'].map((name) => {
      const grown = named(standings, name)?.values('grown') ?? [];
      return goalOf(`${name}: grown by ≤ ${GOAL} MB`, grown, GOAL, 0);
    }),
    ...outcomeOf('slow-reader', standings),
  };
}

/** Warms a contender up, because its first requests allocate memory that it keeps. */
function warm(server: Server, contender: Contender): Promise<void> {
  return StreamClient.during(server, contender, async (client) => {
    await client.check();
    for (let time = 0; time < 10; time += 1) {
      await Promise.all(Array.from({ length: READERS }, () => client.stream('flat')));
    }
  });
}

/** @throws if a reader gets nothing, or the stream ends: then no backpressure was measured */
async function readSlowly(server: Server, contender: Contender, seconds: number): Promise<void> {
  const readers = await Promise.all(
    Array.from({ length: READERS }, () => beginReading(server, contender)),
  );
  try {
    const taken = readers.map(() => 0);
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      for (const [at, response] of readers.entries()) {
        taken[at]! += (response.read(SIP) as Buffer | null)?.length ?? 0;
      }
      await sleep(50);
    }
    if (taken.includes(0) || readers.some(({ readableEnded }) => readableEnded)) {
      throw new Error(`streams without end gave ${taken.join(', ')} bytes`);
    }
  } finally {
    for (const reader of readers) reader.destroy();
  }
}

function beginReading({ url }: Server, { format, headers }: Contender): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url + format.path, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    });
    sent.on('error', reject);
    sent.once('response', (response) => {
      // The response is destroyed at the end, which is not an error.
      response.on('error', () => {});
      // Paused mode: it fills its buffer and waits.
      response.on('readable', () => {});
      resolve(response);
    });
    sent.end(JSON.stringify(format.request('large', true)));
  });
}
