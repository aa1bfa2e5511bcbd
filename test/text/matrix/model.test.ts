import { describe, expect, it } from 'vitest';
import { MODES } from '../conversation.ts';
import {
  CLOUD,
  DIALECTS,
  gatewayDaemon,
  modelTo,
  PAIRS,
  sharedGateway,
} from '../gateway-daemon.ts';
import { eventsOf, plainBody, send } from '../raw.ts';
import { everyByte, type Framing, type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();
const upstreams = gatewayDaemon(() => ({ answers: { model: 'upstream' } }));

const ANSWER: Script = {
  steps: [{ text: 'Good ' }, { text: '"model":"upstream-chat"' }],
  usage: USAGE,
};

/** All model names in events or answers. */
// biome-ignore lint/suspicious/noExplicitAny: events of three formats
const namesIn = (events: readonly any[]): unknown[] =>
  events.flatMap((event) =>
    [event, event.response, event.message].flatMap((own) =>
      own?.model === undefined ? [] : [own.model],
    ),
  );

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  it.each(MODES)('the answer has the public name of the model: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ ...ANSWER, model: 'upstream-2026-08-06' });
    const asked = talk(client, daemon, { model: modelTo(upstream) }).user('Hello');
    const { model, text, events, raw } = await asked.ask(mode);
    expect(model).toBe(modelTo(upstream));
    expect(text).toBe('Good "model":"upstream-chat"');
    expect(new Set(namesIn([raw, ...events]))).toEqual(new Set([modelTo(upstream)]));
    expect(mock.only().body.model).toBe(`upstream-${upstream}`);
  });

  it.each(MODES)(
    'the answer has the upstream’s name with answers.model: upstream: %s',
    async (mode) => {
      const { daemon, upstream: mock } = upstreams();
      mock.play({ ...ANSWER, model: 'upstream-2026-08-06' });
      const asked = talk(client, daemon, { model: modelTo(upstream) }).user('Hello');
      const { events, raw } = await asked.ask(mode);
      expect(new Set(namesIn([raw, ...events]))).toEqual(new Set(['upstream-2026-08-06']));
    },
  );

  it('a stream that is cut off has the public name of the model', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ ...ANSWER, fault: { after: 4, how: 'error-event' } });
    const body = plainBody(client, modelTo(upstream), { stream: true });
    const text = await (await send(daemon, client, body)).text();
    const names = namesIn(eventsOf(text).map(({ data }) => data));
    expect(new Set(names)).toEqual(new Set([modelTo(upstream)]));
  });
});

const FRAMINGS: readonly Framing[] = [
  { line: '\r\n' },
  { line: '\r' },
  { comments: true },
  { multiline: true },
  { tight: true },
];

// The mocks of clouds read server-sent events in one framing.
describe.skipIf(CLOUD).each(DIALECTS)('a %s stream that is passed on', (client) => {
  it.each(FRAMINGS)('has the public name of the model with the framing %j', async (framing) => {
    const { daemon, upstream: mock } = gateway();
    for (const cut of [undefined, everyByte]) {
      mock.play({ ...ANSWER, framing, ...(cut && { cut }) });
      const asked = talk(client, daemon, { model: modelTo(client) }).user('Hello');
      const { events, text } = await asked.ask('events');
      expect(text).toBe('Good "model":"upstream-chat"');
      expect(new Set(namesIn(events))).toEqual(new Set([modelTo(client)]));
    }
  });
});
