import { describe, expect, it } from 'vitest';
import { MODES, STOPS } from '../conversation.ts';
import { DIALECTS, modelTo, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

/** The explanation in the mock's stop_details of messages. */
const EXPLANATION = 'It is not allowed.';

/** An answer that ends with a refusal: a field of its own, or the stop reason of messages. */
function refusing(upstream: DialectName): Script {
  const refusal = upstream === 'messages' ? [] : [{ refusal: EXPLANATION }];
  return { steps: [{ text: 'Half a ' }, ...refusal], stop: 'refusal', usage: USAGE };
}

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  // Clients of messages show text alone.
  const shown = client === 'messages' && upstream !== 'messages' ? EXPLANATION : '';

  it.each(MODES)('a refusal after text is separate from the text: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(refusing(upstream), { steps: [{ text: 'Fine.' }], usage: USAGE });
    const conversation = talk(client, daemon, { model: modelTo(upstream) }).user('Do it');
    const answer = await conversation.ask(mode);
    expect(answer).toMatchObject({
      text: `Half a ${shown}`,
      refusal: EXPLANATION,
      stop: STOPS.refusal[client],
    });
    const next = await conversation.user('And now?').ask(mode);
    expect(next).toMatchObject({ text: 'Fine.', refusal: null });
  });

  it.each(MODES)('a refusal without text is an answer: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    const { steps = [], ...script } = refusing(upstream);
    mock.play({ ...script, steps: steps.slice(1) }, { steps: [{ text: 'Fine.' }], usage: USAGE });
    const conversation = talk(client, daemon, { model: modelTo(upstream) }).user('Do it');
    expect(await conversation.ask(mode)).toMatchObject({ text: shown, refusal: EXPLANATION });
    expect((await conversation.user('And now?').ask(mode)).text).toBe('Fine.');
  });
});

it.each(DIALECTS)(
  'client responses, upstream %s: a refusal is a refusal part',
  async (upstream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(refusing(upstream));
    const { raw, events } = await talk('responses', daemon, { model: modelTo(upstream) })
      .user('Do it')
      .ask('events');
    const refused = events.filter(({ type }) => type.startsWith('response.refusal.'));
    expect(refused.at(-1)).toMatchObject({ type: 'response.refusal.done', refusal: EXPLANATION });
    expect(raw.output.at(-1).content).toEqual([{ type: 'refusal', refusal: EXPLANATION }]);
  },
);
