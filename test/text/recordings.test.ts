import { describe, expect, it, test } from 'vitest';
import { outsideFolder, SKIPPED } from '../outside-material.ts';
import { STOPS } from './conversation.ts';
import { DIALECTS, modelTo, sharedGateway } from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { eventsOf, plainBody, send } from './raw.ts';
import { type NeutralAnswer, readAnswer, readStream } from './recorded.ts';
import { cutAt, everyByte, type Script } from './script.ts';
import { talk } from './talk.ts';

const FOLDERS: Readonly<Record<string, DialectName>> = {
  'openai-chat': 'chat',
  'openai-responses': 'responses',
  anthropic: 'messages',
};

// biome-ignore lint/suspicious/noExplicitAny: answers of three formats, with whatever they held
type Loose = any;

interface Recording {
  readonly name: string;
  readonly dialect: DialectName;
  readonly streamed: boolean;
  /** The events of a stream, or the one body. */
  readonly events: readonly Loose[];
}

/** Parses a line; one recording has lines that are not JSON, of which the type and the text are kept. */
function parse(line: string): Loose {
  try {
    return JSON.parse(line);
  } catch {
    return { type: /"type":"([^"]+)"/.exec(line)![1], broken: line };
  }
}

/** Splits a file that has several streams. */
function streamsOf(dialect: DialectName, events: readonly Loose[]): Loose[][] {
  const streams: Loose[][] = [[]];
  let over = false;
  for (const event of events) {
    const begins = event.type === 'message_start' || event.type === 'response.created';
    if (over && begins) {
      streams.push([]);
      over = false;
    }
    streams.at(-1)!.push(event);
    over ||= event.type === 'message_stop' || /^response\.completed$/.test(event.type ?? '');
  }
  return dialect === 'chat' ? [events.slice()] : streams;
}

function recordings(): Recording[] {
  return Object.entries(FOLDERS).flatMap(([name, dialect]) => {
    const { files, read } = outsideFolder(`recordings/${name}`);
    return files.flatMap((file): Recording[] => {
      const text = read(file);
      if (file.endsWith('.json')) {
        return [{ name: file, dialect, streamed: false, events: [JSON.parse(text)] }];
      }
      const events = text
        .split('\n')
        .filter((line) => line !== '')
        .map(parse);
      return streamsOf(dialect, events).map((stream, index, { length }) => ({
        name: length > 1 ? `${file} ${index + 1}` : file,
        dialect,
        streamed: true,
        events: stream,
      }));
    });
  });
}

/** The bytes that the provider sent, restored from the recording. */
function scriptOf({ dialect, streamed, events }: Recording): Script {
  if (!streamed) {
    return { raw: { type: 'application/json', body: JSON.stringify(events[0]) } };
  }
  const frames = events.map((event) => {
    const head = dialect === 'chat' ? '' : `event: ${event.type}\n`;
    return `${head}data: ${event.broken ?? JSON.stringify(event)}\n\n`;
  });
  if (dialect === 'chat') frames.push('data: [DONE]\n\n');
  return { raw: { type: 'text/event-stream', body: frames.join('') } };
}

const all = recordings();
const absent = all.length === 0;
const failed = ({ events }: Recording) =>
  events.some(
    ({ type, error, status }) => type === 'error' || error?.message || status === 'failed',
  );
const good = all.filter((recording) => !failed(recording));
const broken = ({ events }: Recording) => events.some((event) => 'broken' in event);
/** Whether another answer begins within an answer. */
const spliced = ({ name }: Recording) => name.startsWith('spliced-');

/** Whether an answer has nothing beside blocks of its own format. */
const isNative = ({ native, text, refusal, calls }: NeutralAnswer) =>
  native.length > 0 && text === '' && refusal === null && calls.length === 0;

const gateway = sharedGateway();

test.skipIf(!absent)('recordings are replayed', ({ skip }) => {
  skip(SKIPPED);
});

/** Removes blanks: formats join the parts of reasoning with different ones. */
const withoutBlanks = (text: string) => text.replace(/\s+/g, '');

/** A client's answer in the fields of `readAnswer`. */
function neutralAnswer(client: DialectName, answer: Loose, upstream: NeutralAnswer): object {
  const { usage } = answer;
  const cached =
    client === 'messages' ? (usage.cache_read_input_tokens ?? 0) : usage.cached_input_tokens;
  const input =
    client === 'messages'
      ? usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0)
      : usage.input_tokens;
  const stop = upstream.stop === null ? null : STOPS[upstream.stop][client];
  return {
    text: answer.text,
    reasoning: withoutBlanks(answer.reasoning),
    refusal: answer.refusal,
    calls: answer.calls.map(({ name, arguments: input_ }: Loose) => ({ name, arguments: input_ })),
    stop: answer.stop === stop ? upstream.stop : answer.stop,
    usage: { input, output: usage.output_tokens, cached },
  };
}

function expected({ text, reasoning, refusal, calls, stop, usage }: NeutralAnswer): object {
  return { text, reasoning: withoutBlanks(reasoning), refusal, calls, stop, usage };
}

/** A copy of an event with the public name of the model. */
function withModel(event: Loose, model: string): Loose {
  const copy = structuredClone(event);
  for (const own of [copy, copy.response, copy.message]) {
    if (typeof own?.model === 'string') own.model = model;
  }
  return copy;
}

/** Pseudo-random positions, the same on every run. */
function cutsOf(length: number): number[] {
  let seed = length;
  return Array.from({ length: 60 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % length;
  }).sort((a, b) => a - b);
}

/** Bytes of a stream that is split at every byte. */
const SPLIT_FULLY = 1500;

describe.skipIf(absent).each(DIALECTS)('recorded provider answers for a client of %s', (client) => {
  const foreign = good.filter(({ dialect }) => dialect !== client);
  const own = good.filter((one) => one.dialect === client && !broken(one));

  it.each(foreign.map((recording) => [recording.dialect, recording.name, recording] as const))(
    '%s: %s is translated with equal content beside its native blocks, or an error if it has no other',
    async (dialect, _, recording) => {
      const { daemon, upstream: mock } = gateway();
      const { streamed, events } = recording;
      const original = streamed ? readStream(dialect, events) : readAnswer(dialect, events[0]);
      const script = scriptOf(recording);
      const length = Buffer.byteLength(script.raw!.body);
      const cut = length < SPLIT_FULLY ? everyByte : cutAt(...cutsOf(length));
      for (const played of [script, { ...script, cut }]) {
        mock.play(played);
        const asked = talk(client, daemon, { model: modelTo(dialect) })
          .user('Again, please')
          .ask(streamed ? 'events' : 'whole');
        // The end of a broken recording cannot be decoded.
        if (isNative(original) || broken(recording) || spliced(recording)) {
          await expect(asked, original.native.join()).rejects.toThrow();
        } else {
          expect(neutralAnswer(client, await asked, original)).toEqual(expected(original));
        }
      }
    },
  );

  it.each(own.map((recording) => [recording.name, recording] as const))(
    'own format: %s is passed on unchanged but for the model',
    async (_, recording) => {
      const { daemon, upstream: mock } = gateway();
      const { streamed, events } = recording;
      mock.play({ ...scriptOf(recording), cut: cutAt(...cutsOf(900)) });
      const more = client === 'chat' ? { stream_options: { include_usage: true } } : {};
      // What Oriel stores says so.
      const own = client === 'responses' ? { store: false } : {};
      const streaming = streamed ? { stream: true, ...more } : {};
      const body = plainBody(client, modelTo(client), { ...streaming, ...own });
      const response = await send(daemon, client, body);
      const text = await response.text();
      const [whole, ...stream] = events.map((event) => withModel(event, modelTo(client)));
      if (!streamed) {
        expect(JSON.parse(text)).toMatchObject(whole);
        return;
      }
      const passed = eventsOf(text).map(({ data }) => data);
      if (client === 'chat') expect(passed.pop()).toBe('[DONE]');
      // Events that a proxy appended after the end are not passed on.
      expect(passed.length).toBeGreaterThanOrEqual(events.length - 1);
      expect(passed).toMatchObject([whole, ...stream].slice(0, passed.length));
    },
  );

  it.each(all.filter(failed).map((recording) => [recording.name, recording] as const))(
    'the recorded error %s makes the client throw',
    async (_, recording) => {
      const { daemon, upstream: mock } = gateway();
      const { streamed, dialect, events } = recording;
      const script: Script = streamed
        ? scriptOf(recording)
        : { refuse: { status: 400, body: events[0] } };
      mock.play(script);
      const asked = talk(client, daemon, { model: modelTo(dialect) })
        .user('Again, please')
        .ask(streamed ? 'events' : 'whole');
      await expect(asked).rejects.toThrow();
    },
  );
});
