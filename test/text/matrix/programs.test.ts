import { describe, expect, it } from 'vitest';
import { ask } from '../ask.ts';
import { MODES, WEATHER } from '../conversation.ts';
import { FOREIGN, modelTo, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { requestsIn } from '../requests.ts';
import { type Script, type Step, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

type Upstream = 'responses' | 'messages';

type Items<Format extends string> = Readonly<Record<Format, readonly object[]>>;

const ITEMS = requestsIn<
  Record<'calling' | 'returned' | 'unknown', Items<Upstream>> & {
    programmatic: Items<DialectName>;
    direct: object[];
  }
>('provider-items');

/** An answer of output items or blocks, streamed and not. */
function answered(format: Upstream, values: readonly object[]): Script {
  const steps = values.map((value, index): Step => {
    const frames =
      format === 'responses'
        ? ['added', 'done'].map((end) => ({
            ...{ type: `response.output_item.${end}`, output_index: index, item: value },
          }))
        : [
            { type: 'content_block_start', index, content_block: value },
            { type: 'content_block_stop', index },
          ];
    return { frames, block: value };
  });
  const isCalled = values.some((value) => 'caller' in value);
  return { steps, usage: USAGE, ...(isCalled && format === 'messages' && { stop: 'tool-calls' }) };
}

const TRANSLATED = FOREIGN.filter(([, upstream]) => upstream !== 'chat') as readonly (readonly [
  DialectName,
  Upstream,
])[];

describe.each(TRANSLATED)('a client of %s, an upstream of %s', (client, upstream) => {
  it.each(MODES)('a tool call by a program is a tool call: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(answered(upstream, ITEMS.calling[upstream]), {
      steps: [{ text: 'It snows.' }],
      usage: USAGE,
    });
    const settings = { model: modelTo(upstream), tools: [WEATHER] };
    const conversation = talk(client, daemon, settings).user('Weather in Oslo?');
    const { calls, text } = await conversation.ask(mode);
    expect(text).toBe('');
    expect(calls).toEqual([{ id: 'call_a1', name: 'get_weather', arguments: { city: 'Oslo' } }]);
    const answer = await conversation.results({ id: 'call_a1', content: 'snow' }).ask(mode);
    expect(answer.text).toBe('It snows.');
    expect(mock.requests[1]!.text).toContain('call_a1');
  });
});

describe.each(TRANSLATED)('a client of %s, an upstream of %s', (client, upstream) => {
  const model = modelTo(upstream);

  it.each(MODES)('gets the text beside what its format cannot say: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    for (const items of [ITEMS.unknown[upstream], ITEMS.returned[upstream]]) {
      mock.play(answered(upstream, items));
      const asked = talk(client, daemon, { model }).user('Weather in Oslo?');
      expect(await asked.ask(mode)).toMatchObject({ text: 'It snows.', calls: [] });
    }
  });

  it('is told what was left out, and gets an error where nothing else is there', async () => {
    const items = ITEMS.unknown[upstream];
    const { dropped } = await ask(
      gateway(),
      client,
      model,
      {},
      { play: [answered(upstream, items)] },
    );
    expect(dropped).toBe(
      upstream === 'messages' ? 'answer.next_call' : 'answer.next_call, answer.next_note',
    );
    const play = [answered(upstream, items.slice(0, 1))];
    const { error } = await ask(gateway(), client, model, {}, { play });
    expect(error).toMatchObject({ type: 'billable_error', code: 'untranslatable_output' });
  });
});

it.each(
  FOREIGN.flatMap(([client, to]) =>
    ITEMS.programmatic[client].map((tool) => [client, to, tool] as const),
  ),
)('client %s, upstream %s: a tool for programs only is refused: %j', async (client, to, tool) => {
  const { status, error, requests } = await ask(gateway(), client, modelTo(to), { tools: [tool] });
  expect([status, requests.length, error.param]).toEqual([
    400,
    0,
    expect.stringMatching(/^tools\[0\]/),
  ]);
});

it.each(['chat', 'messages'] as const)(
  'a tool for direct calls only is translated for %s',
  async (to) => {
    const { status, wire } = await ask(gateway(), 'responses', modelTo(to), {
      tools: ITEMS.direct,
    });
    expect([status, wire]).toEqual([200, expect.not.stringContaining('allowed_callers')]);
  },
);
