import { describe, expect, it } from 'vitest';
import { MODES, STOPS } from '../conversation.ts';
import { CLOUD, modelTo, PAIRS, sharedGateway, UPSTREAM_KEYS } from '../gateway-daemon.ts';
import { USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

/** The field for max output tokens in each dialect. */
const LIMITS = {
  chat: 'max_completion_tokens',
  responses: 'max_output_tokens',
  messages: 'max_tokens',
} as const;

/** Role and text of each turn of a request. */
// biome-ignore lint/suspicious/noExplicitAny: a body in one of three formats
function turnsOf(body: any): [string, string][] {
  const system = body.instructions ?? body.system;
  // biome-ignore lint/suspicious/noExplicitAny: a turn in one of three formats
  const textOf = (content: any): string =>
    // biome-ignore lint/suspicious/noExplicitAny: a part in one of three formats
    typeof content === 'string' ? content : content.map(({ text }: any) => text).join('');
  return [
    ...(system === undefined ? [] : [['system', textOf(system)] as [string, string]]),
    // biome-ignore lint/suspicious/noExplicitAny: a turn in one of three formats
    ...(body.messages ?? body.input).map(({ role, content }: any) => [role, textOf(content)]),
  ];
}

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  it.each(MODES)('a conversation of several turns reaches the upstream: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(
      { steps: [{ text: 'Good day ä€🙂' }], usage: USAGE },
      { steps: [{ text: 'That is all.' }], usage: USAGE },
    );
    const settings = {
      model: modelTo(upstream),
      system: 'Be brief.',
      maxTokens: 900,
      temperature: 0.5,
    };
    const conversation = talk(client, daemon, settings).user('Hello');
    const first = await conversation.ask(mode);
    expect(first).toMatchObject({
      text: 'Good day ä€🙂',
      reasoning: '',
      refusal: null,
      calls: [],
      stop: STOPS.stop[client],
      model: modelTo(upstream),
    });
    const second = await conversation.user('And?').ask(mode);
    expect(second.text).toBe('That is all.');

    const [, received] = mock.requests;
    expect(received!.dialect).toBe(upstream);
    expect(received!.body).toMatchObject({
      model: `upstream-${upstream}`,
      [LIMITS[upstream]]: 900,
      temperature: 0.5,
    });
    expect(turnsOf(received!.body)).toEqual([
      ['system', 'Be brief.'],
      ['user', 'Hello'],
      ['assistant', 'Good day ä€🙂'],
      ['user', 'And?'],
    ]);
    expect(received!.body.stream ?? false).toBe(mode !== 'whole');
  });

  // Clouds have credentials of their own.
  it.skipIf(CLOUD)('headers and identity of the client are not sent to the upstream', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'Yes' }], usage: USAGE });
    await talk(client, daemon, { model: modelTo(upstream) })
      .user('Hello')
      .ask();
    const { headers, body } = mock.only();
    if (upstream === 'messages') {
      expect(headers['x-api-key']).toBe(UPSTREAM_KEYS.anthropic);
      expect(headers['anthropic-version']).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(headers['authorization']).toBeUndefined();
    } else {
      expect(headers['authorization']).toBe(`Bearer ${UPSTREAM_KEYS.openai}`);
      expect(headers['x-api-key']).toBeUndefined();
    }
    const clientHeaders = Object.keys(headers).filter((name) => name.startsWith('x-stainless'));
    expect(clientHeaders).toEqual([]);
    expect(JSON.stringify(body)).not.toContain('oriel_test_owner_key');
  });
});
